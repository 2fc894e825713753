// Overlay: lines to the neighbours, rings, names and the lasso, on a plain canvas above the points.

class Overlay {
  constructor(app, canvas) {
    this.app = app;
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.placer = new NamePlacer(app, this.context);
    this.names = [];
  }

  // Draw; `settled` says that the view rests, so that names may be chosen anew.
  draw(theme, settled, context = this.context, ratio = this.app.ratio) {
    const { app } = this;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    if (context === this.context) context.clearRect(0, 0, app.view.width, app.view.height);
    this.drawTrack(context, theme);
    this.drawNeighbours(context, theme);
    this.drawRings(context, theme);
    if (settled) {
      this.names = this.placer.place();
      const { x, y, scale, width, height } = app.view;
      this.anchor = { x, y, scale, width, height };
    }
    this.placer.write(context, this.names.map((name) => this.moved(name)), theme);
    this.drawArea(context, theme);
  }

  // Return a name where its item is now.
  moved(name) {
    const { view } = this.app;
    const old = this.anchor;
    if (["x", "y", "scale", "width", "height"].every((key) => old[key] === view[key])) return name;
    const plane = (value, half, from, sign) => from + (sign * (value - half)) / old.scale;
    if (name.id >= 0) {
      const { data } = this.app;
      const [ox, oy] = [
        (data.x[name.id] - old.x) * old.scale + old.width / 2,
        (old.y - data.y[name.id]) * old.scale + old.height / 2,
      ];
      return { ...name, x: name.x - ox + this.app.screenX(name.id), y: name.y - oy + this.app.screenY(name.id) };
    }
    return {
      ...name,
      x: view.screenX(plane(name.x, old.width / 2, old.x, 1)),
      y: view.screenY(plane(name.y, old.height / 2, old.y, -1)),
    };
  }

  drawNeighbours(context, theme) {
    const { app } = this;
    const { focus } = app.state;
    if (focus < 0) return;
    context.lineCap = "round";
    for (const { id, cosine, kind } of app.nearest) {
      if (app.alpha[id] === 0) continue;
      context.beginPath();
      context.setLineDash(kind === "other" ? [4, 4] : []);
      context.strokeStyle = ACCENT[theme];
      context.globalAlpha = 0.25 + 0.6 * Math.max(cosine, 0) ** 2;
      context.lineWidth = 0.8 + 1.8 * Math.max(cosine, 0) ** 2;
      context.moveTo(app.screenX(focus), app.screenY(focus));
      context.lineTo(app.screenX(id), app.screenY(id));
      context.stroke();
    }
    context.setLineDash([]);
    context.globalAlpha = 1;
  }

  // The way of one item through time.
  drawTrack(context, theme) {
    const { app } = this;
    const track = app.track;
    if (app.state.focus < 0 || track.length < 2) return;
    context.beginPath();
    context.strokeStyle = INK[theme];
    context.globalAlpha = 0.45;
    context.lineWidth = 1.2;
    track.forEach((id, at) => {
      if (at === 0) context.moveTo(app.screenX(id), app.screenY(id));
      else context.lineTo(app.screenX(id), app.screenY(id));
    });
    context.stroke();
    context.globalAlpha = 1;
  }

  drawRings(context, theme) {
    const { app } = this;
    const ring = (id, width, gap, colour) => {
      if (id < 0 || app.alpha[id] === 0) return;
      context.beginPath();
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.arc(app.screenX(id), app.screenY(id), app.radius(id) + gap, 0, 2 * Math.PI);
      context.stroke();
    };
    if (app.hits?.length <= RINGED) for (const id of app.hits) ring(id, 1.2, 1.5, ACCENT[theme]);
    if (app.state.focus >= 0) for (const { id } of app.nearest) ring(id, 1, 1, ACCENT[theme]);
    ring(app.state.focus, 2.4, 3, ACCENT[theme]);
    if (app.hover !== app.state.focus) ring(app.hover, 1.8, 2, INK[theme]);
  }

  drawArea(context, theme) {
    const { app } = this;
    const polygon = app.drawing ?? app.state.area;
    if (!polygon || polygon.length < 4) return;
    context.beginPath();
    for (let i = 0; i < polygon.length; i += 2) {
      const [x, y] = [app.view.screenX(polygon[i]), app.view.screenY(polygon[i + 1])];
      if (i === 0) context.moveTo(x, y);
      else context.lineTo(x, y);
    }
    context.closePath();
    context.fillStyle = ACCENT[theme];
    context.globalAlpha = 0.07;
    context.fill();
    context.globalAlpha = 0.8;
    context.strokeStyle = ACCENT[theme];
    context.lineWidth = 1.3;
    context.setLineDash([5, 4]);
    context.stroke();
    context.setLineDash([]);
    context.globalAlpha = 1;
  }
}

const RINGED = 300; // hits with a ring around them, at most
const ACCENT = { light: "#1668c4", dark: "#6db3ff" };
