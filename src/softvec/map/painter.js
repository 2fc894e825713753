// Painter: points and edges with WebGL2.

class Painter {
  constructor(canvas, data) {
    this.canvas = canvas;
    this.data = data;
    this.gl = canvas.getContext("webgl2", { antialias: false, alpha: false, preserveDrawingBuffer: false });
    if (!this.gl) throw new Error("this browser has no WebGL2; the items can still be read as a list");
    this.factors = sizeFactors(data);
    this.colours = new Uint8Array(4 * data.n);
    this.marks = new Uint8Array(2 * data.n);
    this.build();
  }

  // Make all that lives on the graphics card; again after it was lost.
  build() {
    const { gl, data } = this;
    this.points = linkProgram(gl, POINT_VERTEX, POINT_FRAGMENT);
    this.lines = linkProgram(gl, LINE_VERTEX, LINE_FRAGMENT);
    this.place = this.makeBuffer(interleaved(data));
    this.colourBuffer = this.makeBuffer(this.colours, gl.DYNAMIC_DRAW);
    this.markBuffer = this.makeBuffer(this.marks, gl.DYNAMIC_DRAW);
    this.edgeBuffer = this.makeBuffer(new Uint16Array(0), gl.DYNAMIC_DRAW);
    this.edgeCount = 0;
    this.orderBuffer = gl.createBuffer();
    this.upperBuffer = gl.createBuffer();
    this.upperCount = 0;
    this.pointArray = gl.createVertexArray();
    gl.bindVertexArray(this.pointArray);
    this.attribute(this.points, "position", this.place, 2, gl.UNSIGNED_SHORT);
    this.attribute(this.points, "colour", this.colourBuffer, 4, gl.UNSIGNED_BYTE);
    this.attribute(this.points, "mark", this.markBuffer, 2, gl.UNSIGNED_BYTE, false);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.orderBuffer);
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, drawingOrder(this.factors), gl.STATIC_DRAW);
    this.lineArray = gl.createVertexArray();
    gl.bindVertexArray(this.lineArray);
    this.attribute(this.lines, "position", this.edgeBuffer, 2, gl.UNSIGNED_SHORT);
    gl.bindVertexArray(null);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  makeBuffer(values, usage = this.gl.STATIC_DRAW) {
    const buffer = this.gl.createBuffer();
    this.gl.bindBuffer(this.gl.ARRAY_BUFFER, buffer);
    this.gl.bufferData(this.gl.ARRAY_BUFFER, values, usage);
    return buffer;
  }

  attribute(program, name, buffer, size, type, normalised = true) {
    const { gl } = this;
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.enableVertexAttribArray(program.at(name));
    gl.vertexAttribPointer(program.at(name), size, type, normalised, 0, 0);
  }

  // Take over colours (alpha: 0 hidden, less than 255 in the background) and shapes.
  recolour(scale, theme, alpha) {
    const { gl, data } = this;
    scale.fill(this.colours, theme, alpha);
    const upper = [];
    for (let i = 0; i < data.n; i++) {
      this.marks[2 * i] = this.factors[i];
      this.marks[2 * i + 1] = scale.shape(i);
      if (alpha[i] === FRONT) upper.push(i);
    }
    gl.bindBuffer(gl.ARRAY_BUFFER, this.colourBuffer);
    gl.bufferSubData(gl.ARRAY_BUFFER, 0, this.colours);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.markBuffer);
    gl.bufferSubData(gl.ARRAY_BUFFER, 0, this.marks);
    // what stands out is drawn once more above the rest, if there is a rest
    this.upperCount = upper.length < data.n ? upper.length : 0;
    gl.bindVertexArray(null);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.upperBuffer);
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, Uint32Array.from(upper), gl.DYNAMIC_DRAW);
  }

  // Take over the edges both of whose ends are shown.
  connect(shown) {
    const { gl, data } = this;
    const ends = [];
    if (data.edges) {
      const { source, target } = data.edges;
      for (let e = 0; e < source.length; e++) {
        const [a, b] = [source[e], target[e]];
        if (shown[a] === 1 && shown[b] === 1) ends.push(data.x[a], data.y[a], data.x[b], data.y[b]);
      }
    }
    this.edgeCount = ends.length / 4;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.edgeBuffer);
    gl.bufferData(gl.ARRAY_BUFFER, Uint16Array.from(ends), gl.DYNAMIC_DRAW);
  }

  draw(view, theme, { edges, dimmed, ratio }) {
    const { gl } = this;
    const back = BACKGROUND[theme].map((c) => c / 255);
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.clearColor(...back, 1);
    gl.clear(gl.COLOR_BUFFER_BIT);
    const zoom = [(2 * GRID * view.scale) / view.width, (2 * GRID * view.scale) / view.height];
    const centre = [view.x / GRID, view.y / GRID];
    if (edges && this.edgeCount) {
      gl.useProgram(this.lines.program);
      gl.uniform2f(this.lines.uniforms.centre, ...centre);
      gl.uniform2f(this.lines.uniforms.zoom, ...zoom);
      const strength = Math.min(0.3, Math.max(0.04, 7 / Math.sqrt(this.edgeCount))) * (dimmed ? 0.4 : 1);
      gl.uniform4f(this.lines.uniforms.colour, ...LINE[theme].map((c) => c / 255), strength);
      gl.bindVertexArray(this.lineArray);
      gl.drawArrays(gl.LINES, 0, 2 * this.edgeCount);
    }
    gl.useProgram(this.points.program);
    gl.uniform2f(this.points.uniforms.centre, ...centre);
    gl.uniform2f(this.points.uniforms.zoom, ...zoom);
    gl.uniform3f(this.points.uniforms.rim, ...back);
    gl.uniform1f(this.points.uniforms.radius, pointRadius(this.data.n, view.zoom) * ratio);
    gl.uniform1f(this.points.uniforms.opacity, pointOpacity(this.data.n, view.zoom));
    gl.bindVertexArray(this.pointArray);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.orderBuffer);
    gl.drawElements(gl.POINTS, this.data.n, gl.UNSIGNED_INT, 0);
    if (dimmed && this.upperCount) {
      gl.uniform1f(this.points.uniforms.opacity, Math.max(0.9, pointOpacity(this.data.n, view.zoom)));
      gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.upperBuffer);
      gl.drawElements(gl.POINTS, this.upperCount, gl.UNSIGNED_INT, 0);
    }
    gl.bindVertexArray(null);
  }
}

const BACKGROUND = { light: [252, 252, 251], dark: [19, 21, 25] };
const LINE = { light: [70, 80, 95], dark: [170, 180, 195] };
const FRONT = 255; // alpha of points in the foreground

// Radius in pixels of a point of mean size.
function pointRadius(n, zoom) {
  const base = Math.min(Math.max(48 / n ** 0.33, 0.62), 9);
  return base * Math.min(Math.max(zoom, 0.5) ** 0.4, Math.max(1.6, 6.5 / base));
}

// Many points are see-through, so that dense places are darker; close up they are not.
function pointOpacity(n, zoom) {
  const far = Math.min(0.95, Math.max(0.3, 1.5 - 0.2 * Math.log10(n)));
  return Math.min(0.95, far + 0.16 * Math.log2(Math.max(zoom, 1)));
}

// Return the size factor of each point times 64, from the sizes of the items.
function sizeFactors({ n, sizes }) {
  const factors = new Uint8Array(n).fill(64);
  if (!sizes) return factors;
  const positive = sizes.filter((s) => s > 0);
  const mean = positive.reduce((sum, s) => sum + s, 0) / Math.max(positive.length, 1);
  if (!(mean > 0)) return factors;
  for (let i = 0; i < n; i++) {
    const area = Math.min(Math.max((sizes[i] / mean) ** 0.6, 0.5), 9);
    factors[i] = Math.round(64 * Math.sqrt(area));
  }
  return factors;
}

function interleaved({ n, x, y }) {
  const both = new Uint16Array(2 * n);
  for (let i = 0; i < n; i++) {
    both[2 * i] = x[i];
    both[2 * i + 1] = y[i];
  }
  return both;
}

// Return the points, large ones first so that small ones lie above them, otherwise mixed: drawn in the order
// of the rows, the last group would cover the others.
function drawingOrder(factors) {
  const n = factors.length;
  const mixed = Uint32Array.from({ length: n }, (_, i) => i);
  let seed = 1;
  for (let i = n - 1; i > 0; i--) {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    const j = seed % (i + 1);
    [mixed[i], mixed[j]] = [mixed[j], mixed[i]];
  }
  const starts = new Uint32Array(257);
  for (const factor of factors) starts[256 - factor]++;
  for (let c = 1; c < 257; c++) starts[c] += starts[c - 1];
  const order = new Uint32Array(n);
  for (const i of mixed) order[--starts[256 - factors[i]]] = i;
  return order;
}
