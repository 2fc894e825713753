// View: which part of the plane is seen. The plane is the grid of coordinates, 0 to 65535, y upwards.

const GRID = 65535;

class View {
  constructor() {
    this.width = this.height = 1;
    this.inset = { left: 0, right: 0, top: 0, bottom: 0 }; // covered by panels
    this.x = this.y = GRID / 2;
    this.scale = 1 / 100; // pixels for one unit of the grid
    this.flight = null;
    this.home = { x: this.x, y: this.y, scale: this.scale };
  }

  resize(width, height, inset) {
    const atHome = this.isHome();
    Object.assign(this, { width, height, inset });
    const home = this.fit(this.bounds ?? [0, 0, GRID, GRID]);
    if (atHome) Object.assign(this, home);
    this.home = home;
  }

  isHome() {
    const { x, y, scale } = this.home;
    return Math.abs(this.scale / scale - 1) < 1e-3 && Math.hypot(this.x - x, this.y - y) * scale < 1;
  }

  // Return the view that shows a box [left, bottom, right, top] in the part that no panel covers.
  fit([left, bottom, right, top]) {
    const { inset } = this;
    const room = Math.min(28, 0.06 * Math.min(this.width, this.height));
    const width = Math.max(this.width - inset.left - inset.right - 2 * room, 60);
    const height = Math.max(this.height - inset.top - inset.bottom - 2 * room, 60);
    const scale = Math.min(width / Math.max(right - left, 1), height / Math.max(top - bottom, 1), MAX_SCALE);
    return {
      x: (left + right) / 2 - (inset.left - inset.right) / 2 / scale,
      y: (bottom + top) / 2 + (inset.top - inset.bottom) / 2 / scale,
      scale,
    };
  }

  get zoom() {
    return this.scale / this.home.scale;
  }

  screenX(x) {
    return (x - this.x) * this.scale + this.width / 2;
  }

  screenY(y) {
    return (this.y - y) * this.scale + this.height / 2;
  }

  planeX(px) {
    return (px - this.width / 2) / this.scale + this.x;
  }

  planeY(py) {
    return this.y - (py - this.height / 2) / this.scale;
  }

  pan(dx, dy) {
    this.flight = null;
    this.x -= dx / this.scale;
    this.y += dy / this.scale;
    this.keepInSight();
  }

  // Zoom by a factor about a place on the screen, which stays where it is.
  zoomAt(factor, px, py) {
    this.flight = null;
    const [x, y] = [this.planeX(px), this.planeY(py)];
    this.scale = Math.min(Math.max(this.scale * factor, this.home.scale / 4), MAX_SCALE);
    this.x = x - (px - this.width / 2) / this.scale;
    this.y = y + (py - this.height / 2) / this.scale;
    this.keepInSight();
  }

  keepInSight() {
    const slack = GRID / 2;
    this.x = Math.min(Math.max(this.x, -slack), GRID + slack);
    this.y = Math.min(Math.max(this.y, -slack), GRID + slack);
  }

  // Go to a view in a third of a second, or at once where motion is not wanted.
  flyTo(target, now) {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) Object.assign(this, target);
    else this.flight = { from: { x: this.x, y: this.y, scale: this.scale }, to: target, start: now };
  }

  // Move on; return whether there is more to come.
  advance(now) {
    if (!this.flight) return false;
    const { from, to, start } = this.flight;
    const share = Math.min((now - start) / 330, 1);
    const eased = share * share * (3 - 2 * share);
    this.scale = from.scale * (to.scale / from.scale) ** eased;
    // with a scale that changes, the place moves evenly on the screen if it goes by 1 / scale
    const even = Math.abs(to.scale - from.scale) < 1e-9
      ? eased
      : (1 / this.scale - 1 / from.scale) / (1 / to.scale - 1 / from.scale);
    this.x = from.x + (to.x - from.x) * even;
    this.y = from.y + (to.y - from.y) * even;
    if (share === 1) {
      Object.assign(this, to);
      this.flight = null;
    }
    return true;
  }
}

const MAX_SCALE = 24; // pixels between neighbouring places of the grid: beyond it there is nothing to see
