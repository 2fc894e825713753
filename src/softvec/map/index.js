// Index: the visible points sorted along a Z-curve. A square of a quadtree is a range of that order, so the
// nearest point is found in a number of steps that hardly grows with the number of points.

function spread(v) {
  v = (v | (v << 8)) & 0x00ff00ff;
  v = (v | (v << 4)) & 0x0f0f0f0f;
  v = (v | (v << 2)) & 0x33333333;
  return (v | (v << 1)) & 0x55555555;
}

function zCode(x, y) {
  return (spread(x) | (spread(y) << 1)) >>> 0;
}

// Sort ids by key, 16 bits at a time.
function radixSort(keys, ids) {
  let [k, i] = [keys, ids];
  for (const shift of [0, 16]) {
    const counts = new Uint32Array(65537);
    for (let j = 0; j < k.length; j++) counts[((k[j] >>> shift) & 65535) + 1]++;
    for (let c = 0; c < 65536; c++) counts[c + 1] += counts[c];
    const [k2, i2] = [new Uint32Array(k.length), new Uint32Array(k.length)];
    for (let j = 0; j < k.length; j++) {
      const at = counts[(k[j] >>> shift) & 65535]++;
      k2[at] = k[j];
      i2[at] = i[j];
    }
    [k, i] = [k2, i2];
  }
  return [k, i];
}

const LEAF = 8; // points of a square that are compared one by one

class PointIndex {
  // `shown[i] === 1` says that point i can be found.
  constructor(x, y, shown) {
    this.x = x;
    this.y = y;
    this.steps = 0;
    const ids = [];
    for (let i = 0; i < x.length; i++) if (shown[i] === 1) ids.push(i);
    const keys = Uint32Array.from(ids, (i) => zCode(x[i], y[i]));
    [this.keys, this.ids] = radixSort(keys, Uint32Array.from(ids));
  }

  // Return the first place at or after `lo`, before `hi`, whose key is at least `key`.
  lower(key, lo, hi) {
    while (lo < hi) {
      this.steps++;
      const middle = (lo + hi) >>> 1;
      if (this.keys[middle] < key) lo = middle + 1;
      else hi = middle;
    }
    return lo;
  }

  // Return the point nearest to (x, y) within `radius`, all in units of the grid, or -1; `steps` counts work.
  nearest(x, y, radius) {
    this.steps = 0;
    this.best = -1;
    this.bestSquare = radius * radius;
    this.visit(0, 0, 65536, 0, this.ids.length, x, y);
    return this.best;
  }

  visit(left, bottom, size, lo, hi, x, y) {
    this.steps++;
    if (lo === hi || squareDistance(left, bottom, size, x, y) >= this.bestSquare) return;
    if (hi - lo <= LEAF || size === 1) {
      // points of one place have one distance: the first stands for all
      const end = size === 1 ? lo + 1 : hi;
      for (let at = lo; at < end; at++) this.compare(this.ids[at], x, y);
      return;
    }
    const half = size / 2;
    const base = zCode(left, bottom);
    const quarter = half * half;
    const cuts = [lo];
    for (let q = 1; q < 4; q++) cuts.push(this.lower(base + q * quarter, cuts[q - 1], hi));
    cuts.push(hi);
    // the quarter that holds the place comes first, its opposite last
    const first = (x >= left + half ? 1 : 0) + (y >= bottom + half ? 2 : 0);
    for (const turn of [0, 1, 2, 3]) {
      const q = first ^ turn;
      this.visit(left + (q & 1) * half, bottom + (q >> 1) * half, half, cuts[q], cuts[q + 1], x, y);
    }
  }

  compare(id, x, y) {
    this.steps++;
    const [dx, dy] = [this.x[id] - x, this.y[id] - y];
    const square = dx * dx + dy * dy;
    if (square < this.bestSquare) {
      this.bestSquare = square;
      this.best = id;
    }
  }
}

function squareDistance(left, bottom, size, x, y) {
  const dx = Math.max(left - x, 0, x - (left + size - 1));
  const dy = Math.max(bottom - y, 0, y - (bottom + size - 1));
  return dx * dx + dy * dy;
}

// Whether (x, y) lies in a polygon of [x0, y0, x1, y1, ...].
function inPolygon(polygon, x, y) {
  let inside = false;
  const last = polygon.length - 2;
  for (let i = 0, j = last; i <= last; j = i, i += 2) {
    const [yi, yj] = [polygon[i + 1], polygon[j + 1]];
    if (yi > y !== yj > y && x < ((polygon[j] - polygon[i]) * (y - yi)) / (yj - yi) + polygon[i]) {
      inside = !inside;
    }
  }
  return inside;
}
