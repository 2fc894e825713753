// Names: those of the most important items in view, none over another; more of them as one zooms in.

const FONT = "12px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";
const GROUP_FONT = "600 14px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";
const CLOSE = 6; // zoom from which names that are only the numbers of rows are written
const TRIED = 6000; // names tried for one picture, at most

class NamePlacer {
  constructor(app, context) {
    this.app = app;
    this.context = context;
    this.widths = new Map();
  }

  width(text, font) {
    const key = font + text;
    if (!this.widths.has(key)) {
      if (this.widths.size > 20000) this.widths.clear();
      this.context.font = font;
      this.widths.set(key, this.context.measureText(text).width);
    }
    return this.widths.get(key);
  }

  // Return [{id, text, x, y, align}] of the names to write, `x` and `y` on the screen.
  place() {
    const { app } = this;
    this.taken = app.coveredBoxes();
    const placed = [];
    for (const id of app.pinned()) this.tryName(id, placed, true);
    if (!app.state.names) return placed;
    for (const group of app.groupCentres()) this.tryGroup(group, placed);
    if (app.data.numbered && app.view.zoom < CLOSE) return placed;
    const groups = placed.length;
    const most = this.most();
    let tried = 0;
    const { order } = app.data;
    for (let at = 0; at < order.length && placed.length < groups + most && tried < TRIED; at++) {
      const id = order[at];
      if (!(app.alpha[id] === FRONT || (app.alpha[id] === NEARBY && !app.hits)) || !app.inView(id)) continue;
      tried++;
      this.tryName(id, placed, false);
    }
    return placed;
  }

  // How many names: of many items few from afar, more of them close up.
  most() {
    const { data, view } = this.app;
    const room = (view.width * view.height) / 9000;
    const share = data.n <= 300 ? 1 : Math.min(1, 0.32 * Math.max(view.zoom, 1) ** 0.7);
    return Math.min(Math.max(room * share, 12), 130);
  }

  tryName(id, placed, pinned) {
    if (placed.some((name) => name.id === id)) return;
    const { app } = this;
    const text = visible(app.data.names[id], pinned ? 40 : 28);
    if (text === "") return;
    const width = this.width(text, FONT);
    const [x, y] = [app.screenX(id), app.screenY(id)];
    const gap = app.radius(id) + 3;
    const places = [
      [x + gap, y, "left"], [x - gap, y, "right"], [x, y - gap - 7, "center"], [x, y + gap + 7, "center"],
    ];
    for (const [px, py, align] of places) {
      const left = align === "left" ? px : align === "right" ? px - width : px - width / 2;
      const box = [left - 2, py - 8, left + width + 2, py + 8];
      if (!this.free(box)) continue;
      this.taken.push(box, [x - gap + 2, y - gap + 2, x + gap - 2, y + gap - 2]);
      placed.push({ id, text, x: px, y: py, align, pinned, muted: app.alpha[id] !== FRONT });
      return;
    }
  }

  tryGroup({ text, colour, x, y }, placed) {
    const width = this.width(text, GROUP_FONT);
    const box = [x - width / 2 - 4, y - 10, x + width / 2 + 4, y + 10];
    if (!this.free(box)) return;
    this.taken.push(box);
    placed.push({ id: -1, text, x, y, align: "center", colour });
  }

  free([left, top, right, bottom]) {
    const { width, height } = this.app.view;
    if (left < 2 || top < 2 || right > width - 2 || bottom > height - 2) return false;
    return !this.taken.some((b) => left < b[2] && right > b[0] && top < b[3] && bottom > b[1]);
  }

  // Write names; `dx`, `dy` and `zoom` are done by the caller through fresh coordinates.
  write(context, placed, theme) {
    context.textBaseline = "middle";
    context.lineJoin = "round";
    context.strokeStyle = css(BACKGROUND[theme]).replace(")", " / 0.88)");
    for (const { text, x, y, align, pinned, colour, muted } of placed) {
      context.font = colour ? GROUP_FONT : pinned ? "600 " + FONT : FONT;
      context.textAlign = align;
      context.lineWidth = colour ? 4 : 3;
      context.strokeText(text, x, y);
      context.fillStyle = colour ? css(colour) : muted ? QUIET[theme] : INK[theme];
      context.fillText(text, x, y);
    }
  }
}

const QUIET = { light: "#8a929b", dark: "#7f8893" };
const INK = { light: "#22262b", dark: "#e9ebee" };
