// Pointer: mouse, pen and fingers. Dragging pans or draws a selection, two fingers zoom, a tap opens an item.

const CORNERS = 120; // points of a lasso, at most: it must fit into a link

class Pointer {
  constructor(app, canvas) {
    this.app = app;
    this.canvas = canvas;
    this.down = new Map(); // the pointers that touch, by id
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerup", (event) => this.lift(event));
    canvas.addEventListener("pointercancel", (event) => this.lift(event, true));
    canvas.addEventListener("pointerleave", () => this.down.size || app.pointAt(-1));
    canvas.addEventListener("dblclick", (event) => this.zoom(event.shiftKey ? 0.5 : 2, event.clientX, event.clientY));
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    canvas.addEventListener("contextmenu", (event) => this.gesture && event.preventDefault());
  }

  press(event) {
    if (event.button > 0) return;
    this.canvas.setPointerCapture(event.pointerId);
    this.down.set(event.pointerId, [event.clientX, event.clientY]);
    if (this.down.size > 1) {
      this.gesture = "pinch";
      this.app.drawing = null;
      return;
    }
    const { mode } = this.app.state;
    const draws = mode !== "pan" || event.shiftKey;
    this.gesture = draws ? (mode === "box" ? "box" : "lasso") : "pan";
    this.start = [event.clientX, event.clientY];
    this.path = [this.start];
    this.distance = 0;
  }

  move(event) {
    const { app } = this;
    const old = this.down.get(event.pointerId);
    if (!old) {
      if (event.pointerType !== "touch") app.pointAt(app.pick(event.clientX, event.clientY), event);
      return;
    }
    const now = [event.clientX, event.clientY];
    this.distance += Math.hypot(now[0] - old[0], now[1] - old[1]);
    if (this.gesture === "pinch") this.pinch(event.pointerId, old, now);
    this.down.set(event.pointerId, now);
    if (this.distance < 4) return;
    app.pointAt(-1);
    if (this.gesture === "pan") {
      this.canvas.classList.add("grabbed");
      app.view.pan(now[0] - old[0], now[1] - old[1]);
      app.moved();
    }
    if (this.gesture === "lasso" || this.gesture === "box") this.draw(now);
  }

  pinch(id, old, now) {
    const other = [...this.down].find(([key]) => key !== id)?.[1];
    if (!other) return;
    const before = Math.hypot(old[0] - other[0], old[1] - other[1]);
    const after = Math.hypot(now[0] - other[0], now[1] - other[1]);
    const { view } = this.app;
    view.pan((now[0] - old[0]) / 2, (now[1] - old[1]) / 2);
    if (before > 0 && after > 0) {
      view.zoomAt(after / before, (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
    }
    this.app.moved();
  }

  draw(now) {
    const [x, y] = this.start;
    if (this.gesture === "box") this.path = [[x, y], [now[0], y], now, [x, now[1]]];
    else if (Math.hypot(now[0] - this.path.at(-1)[0], now[1] - this.path.at(-1)[1]) > 4) this.path.push(now);
    this.app.drawing = this.polygon();
    this.app.requestFrame();
  }

  // The path on the plane as whole numbers, few enough for a link.
  polygon() {
    const { view } = this.app;
    const step = Math.ceil(this.path.length / CORNERS);
    const limit = (value) => Math.min(Math.max(Math.round(value), -GRID), 2 * GRID);
    return this.path
      .filter((_, i) => i % step === 0)
      .flatMap(([px, py]) => [limit(view.planeX(px)), limit(view.planeY(py))]);
  }

  lift(event, cancelled = false) {
    const { app } = this;
    if (!this.down.delete(event.pointerId)) return;
    this.canvas.classList.remove("grabbed");
    const gesture = this.gesture;
    if (gesture === "pinch") {
      if (this.down.size === 0) this.gesture = null;
      return;
    }
    this.gesture = null;
    const area = app.drawing;
    app.drawing = null;
    if (cancelled) return app.requestFrame();
    if (area && area.length >= 6) app.update({ area });
    else if (this.distance < 6) this.tap(event);
  }

  tap(event) {
    const { app } = this;
    const id = app.pick(event.clientX, event.clientY, event.pointerType === "touch" ? 18 : 9);
    if (id >= 0) app.update({ focus: id });
    else if (app.state.area) app.update({ area: null });
    else if (app.state.focus >= 0) app.update({ focus: -1 });
  }

  wheel(event) {
    event.preventDefault();
    const unit = event.deltaMode === 1 ? 18 : event.deltaMode === 2 ? 400 : 1;
    const speed = event.ctrlKey ? 0.01 : 0.0018;
    this.app.view.zoomAt(Math.exp(-event.deltaY * unit * speed), event.clientX, event.clientY);
    this.app.moved();
  }

  zoom(factor, x, y) {
    this.app.view.zoomAt(factor, x, y);
    this.app.moved();
  }
}

// The tooltip: name and facts beside the pointer.
function showTooltip(app, id, event) {
  const tooltip = byId("tooltip");
  tooltip.hidden = id < 0 || !event;
  if (tooltip.hidden) return;
  if (tooltip.dataset.id !== String(id)) {
    tooltip.dataset.id = id;
    const list = make("dl", { class: "facts" });
    list.append(...facts(app.data, id, 60).slice(0, 16));
    tooltip.replaceChildren(nameElement(app.data.names[id], 80), list);
  }
  const box = tooltip.getBoundingClientRect();
  const { width, height } = app.view;
  const left = event.clientX + 16 + box.width > width ? event.clientX - 12 - box.width : event.clientX + 16;
  const top = Math.min(event.clientY + 14, height - box.height - 8);
  tooltip.style.transform = `translate(${Math.max(left, 4)}px, ${Math.max(top, 4)}px)`;
}
