// Data: base64, gzip, a JSON header and arrays as byte planes (see softvec/map/page.py).

function fromBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const step = 4 << 20; // a multiple of 4, so that each piece decodes alone
  const pieces = [];
  for (let at = 0; at < text.length; at += step) {
    const piece = atob(text.slice(at, at + step));
    const bytes = new Uint8Array(piece.length);
    for (let i = 0; i < piece.length; i++) bytes[i] = piece.charCodeAt(i);
    pieces.push(bytes);
  }
  return joinBytes(pieces);
}

function joinBytes(pieces) {
  const whole = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

async function unzip(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const reader = stream.getReader();
  const pieces = [];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return joinBytes(pieces);
    pieces.push(value);
  }
}

const ARRAYS = {
  u1: [Uint8Array, 1], u2: [Uint16Array, 2], u3: [Uint32Array, 3], u4: [Uint32Array, 4],
  f4: [Float32Array, 4], f8: [Float64Array, 8],
};

// Put the planes of an array back side by side.
function fromPlanes(bytes, type, length) {
  const [Kind, width] = ARRAYS[type];
  if (width === 1) return bytes.slice(0, length);
  const values = new Kind(length);
  const target = new Uint8Array(values.buffer);
  const stride = Kind.BYTES_PER_ELEMENT;
  for (let plane = 0; plane < width; plane++) {
    const from = plane * length;
    for (let i = 0; i < length; i++) target[i * stride + plane] = bytes[from + i];
  }
  return values;
}

class MapData {
  constructor(bytes) {
    const start = new DataView(bytes.buffer, bytes.byteOffset);
    if (start.getUint32(0, true) !== 0x314d5653) throw new Error("this page's data is damaged");
    const size = start.getUint32(4, true);
    this.header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + size)));
    this.bytes = bytes.subarray(8 + size);
    const header = this.header;
    this.n = header.n;
    this.x = this.array("x");
    this.y = this.array("y");
    this.names = this.texts("names");
    this.sizes = header.sizes ? Float32Array.from(this.array(header.sizes)) : null;
    this.columns = header.columns.map((column) => ({
      ...column,
      values: column.kind === "text" ? this.texts(column.array) : this.array(column.array),
    }));
    this.neighbours = header.neighbours.map((block) => ({
      ...block,
      ids: this.array("neighbours" + block.number),
      cosines: this.array("cosines" + block.number),
    }));
    this.edges = header.edges && {
      ...header.edges,
      source: this.array("edges.source"),
      target: this.array("edges.target"),
    };
    this.times = header.times && { values: header.times, codes: this.array("times") };
    this.items = "items" in header.arrays ? this.array("items") : null;
    this.bytes = null;
    this.order = this.importance();
    this.folded = null;
  }

  array(name) {
    const [type, length, offset] = this.header.arrays[name];
    return fromPlanes(this.bytes.subarray(offset), type, length);
  }

  texts(name) {
    const [, length, offset] = this.header.arrays[name + ".text"];
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
    const whole = decoder.decode(this.bytes.subarray(offset, offset + length));
    let at = 0;
    return Array.from(this.array(name + ".length"), (size) => whole.slice(at, (at += size)));
  }

  // Return the items from most to least important: by size, then in the order of the rows.
  importance() {
    const order = Uint32Array.from({ length: this.n }, (_, i) => i);
    if (!this.sizes) return order;
    // the bits of floats that are not negative are in the order of the floats
    const bits = new Uint32Array(this.sizes.buffer);
    return radixSort(bits.map((value) => ~value >>> 0), order)[1];
  }

  // Return [{kind, id, cosine}] of the nearest neighbours of an item.
  nearest(i) {
    const similar = [];
    for (const block of this.neighbours) {
      if (i < block.start || i >= block.start + block.count) continue;
      for (let j = 0; j < block.k; j++) {
        const at = j * block.count + i - block.start;
        similar.push({ kind: block.kind, id: block.ids[at], cosine: block.cosines[at] / 1000 - 1 });
      }
    }
    return similar;
  }

  // Return the value of a column for an item as text, or "" for none.
  cell(column, i) {
    const value = column.values[i];
    if (column.kind === "category") return value ? column.groups[value - 1] : "";
    if (column.kind === "number") {
      if (Number.isNaN(value)) return "";
      return column.dated ? formatDate(value) : formatNumber(value);
    }
    return value;
  }

  side(i) {
    return i >= this.header.firstContext ? 1 : 0;
  }

  get twoSided() {
    return this.header.firstContext < this.n;
  }

  // Whether the names are the numbers of the rows, which say nothing on a map.
  get numbered() {
    return this.n > 60 && this.names[0] === "0" && this.names[this.n - 1] === String(this.n - 1);
  }

  // All names folded, one a line, and where the lines begin; made at the first search.
  searchText() {
    if (!this.folded) {
      const joined = this.names.map((name) => (name.includes("\n") ? name.replaceAll("\n", " ") : name));
      const text = fold(joined.join("\n"));
      const starts = new Uint32Array(this.n + 1);
      for (let i = 1, at = 0; i < this.n; i++) starts[i] = at = text.indexOf("\n", at) + 1;
      starts[this.n] = text.length + 1;
      this.folded = { text, starts };
    }
    return this.folded;
  }
}

async function readData() {
  const element = byId("data");
  if (typeof DecompressionStream === "undefined") {
    throw new Error("this browser is too old for this page: it has no DecompressionStream");
  }
  const bytes = await unzip(fromBase64(element.textContent.trim()));
  element.remove();
  return new MapData(bytes);
}
