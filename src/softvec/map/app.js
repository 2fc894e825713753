// App: the state of the map, what follows from it, and the drawing of frames.

const BEHIND = 48; // alpha of points that are not among those looked for
const NEARBY = 96; // alpha of points around an item in focus
const GHOST = 12; // alpha of points of another time

class App {
  constructor(data) {
    this.data = data;
    this.view = new View();
    this.listeners = [];
    this.counters = { hoverSteps: 0, hoverMost: 0, frames: 0, indexes: 0 };
    this.hover = -1;
    this.drawing = null; // the lasso while it is drawn
    this.chosen = []; // items in the lasso
    this.hits = null; // items found by the search
    this.nearest = [];
    this.track = [];
    this.alpha = new Uint8Array(data.n).fill(FRONT);
    this.shown = new Uint8Array(data.n).fill(1);
    this.index = null;
    this.ratio = 1;
    this.state = this.defaults();
    this.view.bounds = bounds(data);
    this.darkSystem = matchMedia("(prefers-color-scheme: dark)");
    this.darkSystem.addEventListener("change", () => this.update({ theme: this.state.theme }));
  }

  defaults() {
    const { data } = this;
    const colourable = data.columns.findIndex((column) => column.kind !== "text");
    return {
      colour: colourable,
      hidden: [], // groups of the colour column that are switched off; 0 is "none"
      sides: [], // sides that are switched off
      focus: -1,
      area: null,
      query: "",
      time: -1, // number of a time; -1 is all
      edges: Boolean(data.edges && data.edges.shown <= 2000),
      names: true,
      theme: document.documentElement.dataset.start || "auto",
      mode: "pan",
    };
  }

  get theme() {
    const { theme } = this.state;
    return theme === "auto" ? (this.darkSystem.matches ? "dark" : "light") : theme;
  }

  get column() {
    return this.data.columns[this.state.colour];
  }

  // Change the state and all that follows from it.
  update(change) {
    const first = !this.scale;
    const touched = new Set(Object.keys(change));
    const any = (...keys) => first || keys.some((key) => touched.has(key));
    Object.assign(this.state, change);
    document.documentElement.dataset.theme = this.theme;
    if (any("colour")) {
      this.scale = new Scale(this.data, this.column);
      if (!touched.has("hidden")) this.state.hidden = [];
      touched.add("hidden");
    }
    if (any("hidden", "sides", "time")) this.findShown();
    if (any("query")) this.hits = this.state.query ? searchNames(this.data, this.state.query) : null;
    if (any("focus")) this.findNearest();
    if (any("area", "hidden", "sides", "time")) this.findChosen();
    if (any("colour", "hidden", "sides", "time", "query", "focus", "area", "theme")) this.repaint();
    if (any("colour", "hidden", "sides", "time")) this.centres = null;
    for (const listen of this.listeners) listen(touched, first);
    this.requestFrame();
    this.saveLink?.();
  }

  findShown() {
    const { data, state, shown } = this;
    const hidden = new Set(state.hidden);
    const sides = new Set(state.sides);
    const groups = this.column?.kind === "category" ? this.column.values : null;
    for (let i = 0; i < data.n; i++) {
      if ((groups && hidden.has(groups[i])) || sides.has(data.side(i))) shown[i] = 0;
      else shown[i] = state.time >= 0 && data.times.codes[i] !== state.time ? 2 : 1;
    }
    this.index = null;
    this.painter?.connect(shown);
  }

  findNearest() {
    const { data } = this;
    const { focus } = this.state;
    this.nearest = focus < 0 ? [] : data.nearest(focus);
    this.track = [];
    if (focus < 0 || !data.items || !data.times) return;
    for (let i = 0; i < data.n; i++) if (data.items[i] === data.items[focus]) this.track.push(i);
    this.track.sort((a, b) => data.times.codes[a] - data.times.codes[b]);
  }

  findChosen() {
    const { data } = this;
    const polygon = this.state.area;
    this.chosen = [];
    if (!polygon) return;
    for (const i of data.order) {
      if (this.shown[i] === 1 && inPolygon(polygon, data.x[i], data.y[i])) this.chosen.push(i);
    }
  }

  // Set what stands in front: the selection, or what was searched, or an item and its neighbours.
  repaint() {
    const { data, state } = this;
    let front = null;
    if (state.area) front = this.chosen;
    else if (this.hits) front = this.hits;
    else if (state.focus >= 0 && data.n > 60) {
      front = [state.focus, ...this.nearest.map(({ id }) => id), ...this.track];
    }
    const back = state.area || this.hits ? BEHIND : NEARBY;
    this.dimmed = front !== null || state.time >= 0;
    for (let i = 0; i < data.n; i++) {
      this.alpha[i] = this.shown[i] === 1 ? (front ? back : FRONT) : this.shown[i] === 2 ? GHOST : 0;
    }
    if (front) for (const i of front) if (this.shown[i]) this.alpha[i] = FRONT;
    this.painter?.recolour(this.scale, this.theme, this.alpha);
  }

  // The item nearest to a place on the screen, or -1.
  pick(px, py, reach = 9) {
    if (!this.index) {
      this.index = new PointIndex(this.data.x, this.data.y, this.shown);
      this.counters.indexes++;
    }
    const { view, counters } = this;
    const radius = Math.max(reach, pointRadius(this.data.n, view.zoom) + 4) / view.scale;
    const id = this.index.nearest(view.planeX(px), view.planeY(py), radius);
    counters.hoverSteps = this.index.steps;
    counters.hoverMost = Math.max(counters.hoverMost, this.index.steps);
    return id;
  }

  screenX(id) {
    return this.view.screenX(this.data.x[id]);
  }

  screenY(id) {
    return this.view.screenY(this.data.y[id]);
  }

  radius(id) {
    return (pointRadius(this.data.n, this.view.zoom) * (this.painter?.factors[id] ?? 64)) / 64;
  }

  inView(id) {
    const [x, y] = [this.screenX(id), this.screenY(id)];
    return x > 0 && y > 0 && x < this.view.width && y < this.view.height;
  }

  pinned() {
    const { focus } = this.state;
    return focus < 0 ? [] : [focus, ...this.nearest.slice(0, 20).map(({ id }) => id)].filter((id) => this.alpha[id]);
  }

  coveredBoxes() {
    return PANELS.map((id) => byId(id))
      .filter((element) => element && !element.hidden)
      .map((element) => element.getBoundingClientRect())
      .map((box) => [box.left, box.top, box.right, box.bottom]);
  }

  // The names of groups where their points are densest, for a view from afar.
  groupCentres() {
    const { column, view } = this;
    const wanted =
      column?.kind === "category" && !column.detected && column.groups.length <= NAMED && this.data.n > 200;
    if (!wanted || view.zoom > 3 || this.state.focus >= 0 || this.hits || this.state.area) return [];
    this.centres ??= groupPlaces(this.data, column, this.shown);
    return this.centres.map(({ group, x, y }) => ({
      text: visible(column.groups[group - 1], 30),
      colour: readable(this.scale.groupColour(group, this.theme), this.theme),
      x: view.screenX(x),
      y: view.screenY(y),
    }));
  }

  // Go where some items are, with room around them.
  show(ids, closest = 6) {
    if (!ids.length) return;
    const box = bounds(this.data, ids);
    const target = this.view.fit(box);
    const scale = Math.min(target.scale, Math.max(closest * this.view.home.scale, this.view.scale));
    const { inset } = this.view;
    target.x += ((inset.left - inset.right) / 2) * (1 / target.scale - 1 / scale);
    target.y -= ((inset.top - inset.bottom) / 2) * (1 / target.scale - 1 / scale);
    this.view.flyTo({ ...target, scale }, performance.now());
    this.requestFrame();
  }

  requestFrame() {
    if (this.frame) return;
    this.frame = requestAnimationFrame((now) => {
      this.frame = 0;
      this.render(now);
    });
  }

  // The view moved: draw, and choose names anew once it rests.
  moved() {
    clearTimeout(this.rest);
    this.moving = true;
    this.rest = setTimeout(() => {
      this.moving = false;
      this.requestFrame();
      this.saveLink?.();
    }, 140);
    this.requestFrame();
  }

  render(now) {
    const flying = this.view.advance(now);
    this.counters.frames++;
    this.painter?.draw(this.view, this.theme, {
      edges: this.state.edges, dimmed: this.dimmed, ratio: this.ratio,
    });
    this.overlay.draw(this.theme, !this.moving || !this.overlay.anchor);
    if (flying) this.moved();
  }
}

const PANELS = ["panel", "legend", "tools", "timebar"];

function bounds(data, ids) {
  let [left, bottom, right, top] = [GRID, GRID, 0, 0];
  const take = (i) => {
    left = Math.min(left, data.x[i]);
    right = Math.max(right, data.x[i]);
    bottom = Math.min(bottom, data.y[i]);
    top = Math.max(top, data.y[i]);
  };
  if (ids) for (const i of ids) take(i);
  else for (let i = 0; i < data.n; i++) take(i);
  return [left, bottom, right, top];
}

// Return where each group is densest: the mean of its points in the fullest 3 x 3 cells of a coarse grid. A
// mean or median of a group in two parts would lie between them.
function groupPlaces(data, column, shown) {
  const cells = column.groups.map(() => new Map()); // cell -> [count, sum of x, sum of y]
  for (let i = 0; i < data.n; i++) {
    if (shown[i] !== 1 || !column.values[i]) continue;
    const group = cells[column.values[i] - 1];
    const cell = (data.x[i] >> 11) * 64 + (data.y[i] >> 11);
    const sums = group.get(cell) ?? [0, 0, 0];
    group.set(cell, [sums[0] + 1, sums[1] + data.x[i], sums[2] + data.y[i]]);
  }
  const around = [-65, -64, -63, -1, 0, 1, 63, 64, 65];
  const places = cells.flatMap((group, g) => {
    let best = [0, 0, 0];
    for (const cell of group.keys()) {
      const near = around.map((step) => group.get(cell + step)).filter(Boolean);
      const sums = [0, 1, 2].map((k) => near.reduce((sum, part) => sum + part[k], 0));
      if (sums[0] > best[0]) best = sums;
    }
    const [count, x, y] = best;
    return count > 2 ? [{ group: g + 1, count, x: x / count, y: y / count }] : [];
  });
  return places.sort((a, b) => b.count - a.count);
}

// Return the items whose name holds a text, accents and case aside: best matches first.
function searchNames(data, query) {
  const wanted = fold(query.trim());
  if (!wanted) return null;
  const { text, starts } = data.searchText();
  data.rank ??= data.order.reduce((rank, id, at) => ((rank[id] = at), rank), new Uint32Array(data.n));
  const kinds = [[], [], [], []]; // the whole name, its beginning, the beginning of a word, anywhere
  let line = 0;
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, starts[line])) {
    line = lineOf(starts, at, line);
    const [start, end] = [starts[line], starts[line + 1] - 1];
    let kind = 3;
    if (at === start) kind = end - start === wanted.length ? 0 : 1;
    else if (/[\s_.,:;()/-]/.test(text[at - 1])) kind = 2;
    kinds[kind].push(data.rank[line]);
    line++;
    if (line >= data.n) break;
  }
  return kinds.flatMap((ranks) => Array.from(Uint32Array.from(ranks).sort(), (rank) => data.order[rank]));
}

// Return the line that holds a place, by bisection after `from`.
function lineOf(starts, place, from) {
  let [lo, hi] = [from, starts.length - 1];
  while (lo + 1 < hi) {
    const middle = (lo + hi) >> 1;
    if (starts[middle] <= place) lo = middle;
    else hi = middle;
  }
  return lo;
}
