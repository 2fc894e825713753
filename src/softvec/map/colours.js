// Colours: groups from a palette that can be told apart with any colour vision, numbers from a ramp whose
// lightness grows with the number.

const DARK_PALETTE = [
  "#5aa5ec", "#ffb42e", "#f0563a", "#b678e0", "#92dadd",
  "#f58a3c", "#c9927f", "#cfc389", "#9ba0ad", "#f2f4f6",
];
const GREY = { light: [190, 195, 200], dark: [86, 92, 100] };
const RAMP = {
  light: ["#2d1e63", "#314f9a", "#1f7fa8", "#1fa58d", "#74c365", "#e3cf3a"],
  dark: ["#5b4aa8", "#4a74c9", "#3a9fc4", "#3fc2a4", "#97d977", "#f5e663"],
};
const SHAPES = 4; // circle, triangle, square, diamond
const ROUNDS = [[0, 0], [0, 0.38], [255, 0.45], [128, 0.5]];
const COLOURED = 40; // groups with a colour and shape of their own
const NAMED = 400; // groups whose names are written, where there is room

function rgb(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

function css(colour) {
  return `rgb(${colour[0]} ${colour[1]} ${colour[2]})`;
}

// Return a colour dark (or, on a dark page, light) enough to be read as text.
function readable(colour, theme) {
  const ink = theme === "dark" ? 255 : 0;
  return colour.map((value) => Math.round(value + (ink - value) * (theme === "dark" ? 0.25 : 0.38)));
}

function ramp(theme, share) {
  const stops = RAMP[theme];
  const at = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
  const low = Math.min(Math.floor(at), stops.length - 2);
  const [a, b] = [rgb(stops[low]), rgb(stops[low + 1])];
  return a.map((value, i) => Math.round(value + (b[i] - value) * (at - low)));
}

// How the values of a column become colours.
class Scale {
  constructor(data, column) {
    this.data = data;
    this.column = column;
    if (!column) return;
    if (column.kind === "category") this.rankGroups();
    else this.measure();
  }

  // Groups keep the order of the legend; if there are too many, the largest have colours.
  rankGroups() {
    const counts = new Uint32Array(this.column.groups.length + 1);
    for (const value of this.column.values) counts[value]++;
    this.counts = counts;
    const groups = Array.from({ length: counts.length - 1 }, (_, i) => i + 1);
    const largest = groups.length > COLOURED
      ? groups.slice().sort((a, b) => counts[b] - counts[a] || a - b).slice(0, COLOURED)
      : groups;
    this.place = new Int32Array(counts.length).fill(-1);
    largest.forEach((group, i) => (this.place[group] = i));
  }

  measure() {
    const known = this.column.values.filter((value) => Number.isFinite(value));
    known.sort();
    this.low = known.length ? known[0] : 0;
    this.high = known.length ? known[known.length - 1] : 1;
    const middle = known.length ? known[known.length >> 1] : 0;
    this.log = !this.column.dated && this.low > 0 && this.high > 20 * middle;
  }

  // Return an end of the range as text, no finer than a thousandth of the range.
  show(value) {
    if (this.column.dated) return formatDate(value);
    const range = this.high - this.low;
    if (this.log || !(range > 0)) return formatNumber(value);
    const step = 10 ** (Math.floor(Math.log10(range)) - 3);
    return formatNumber(Number((Math.round(value / step) * step).toPrecision(12)));
  }

  share(value) {
    const f = this.log ? Math.log : (v) => v;
    return this.high > this.low ? (f(value) - f(this.low)) / (f(this.high) - f(this.low)) : 0.5;
  }

  groupColour(group, theme) {
    const palette = theme === "dark" ? DARK_PALETTE : this.data.header.palette;
    const place = this.place[group];
    if (group === 0 || place < 0) return GREY[theme];
    // a further round of the palette is darker, then paler, and has another shape
    const [towards, share] = ROUNDS[Math.floor(place / palette.length) % ROUNDS.length];
    return rgb(palette[place % palette.length]).map((value) => Math.round(value + (towards - value) * share));
  }

  // Shapes tell groups of one colour apart; where there are two sides, shapes tell the sides.
  groupShape(group) {
    if (this.data.twoSided || group === 0 || this.place[group] < 0) return 0;
    return Math.floor(this.place[group] / this.data.header.palette.length) % SHAPES;
  }

  colour(i, theme) {
    if (!this.column) return rgb(theme === "dark" ? DARK_PALETTE[0] : this.data.header.palette[0]);
    const value = this.column.values[i];
    if (this.column.kind === "category") return this.groupColour(value, theme);
    return Number.isFinite(value) ? ramp(theme, this.share(value)) : GREY[theme];
  }

  shape(i) {
    if (this.data.twoSided) return this.data.side(i) ? 3 : 0;
    return this.column?.kind === "category" ? this.groupShape(this.column.values[i]) : 0;
  }

  // Fill the colours of all points: rgb from the scale, alpha from `alpha`.
  fill(target, theme, alpha) {
    const category = this.column?.kind === "category";
    const table = category ? this.column.groups.map((_, g) => this.groupColour(g + 1, theme)) : null;
    if (table) table.unshift(GREY[theme]);
    const steps = category ? null : Array.from({ length: 257 }, (_, s) => ramp(theme, s / 256));
    const plain = this.column ? GREY[theme] : this.colour(0, theme);
    for (let i = 0; i < this.data.n; i++) {
      const value = this.column?.values[i];
      let colour = plain;
      if (category) colour = table[value];
      else if (Number.isFinite(value)) colour = steps[Math.round(256 * this.share(value))];
      target[4 * i] = colour[0];
      target[4 * i + 1] = colour[1];
      target[4 * i + 2] = colour[2];
      target[4 * i + 3] = alpha[i];
    }
  }
}
