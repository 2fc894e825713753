// Main: read the data, build the parts, and join them.

function addActions(app) {
  const middle = () => [
    (app.view.width + app.view.inset.left - app.view.inset.right) / 2,
    (app.view.height + app.view.inset.top - app.view.inset.bottom) / 2,
  ];
  const actions = {
    zoom: (factor) => {
      const [x, y] = middle();
      const { view } = app;
      const [px, py] = [view.planeX(x), view.planeY(y)];
      const scale = Math.min(Math.max(view.scale * factor, view.home.scale / 4), MAX_SCALE);
      const target = { x: px - (x - view.width / 2) / scale, y: py + (y - view.height / 2) / scale, scale };
      view.flyTo(target, performance.now());
      app.moved();
    },
    fit: () => {
      app.view.flyTo(app.view.home, performance.now());
      app.moved();
    },
    mode: (mode) => app.update({ mode }),
    edges: () => app.data.edges && app.update({ edges: !app.state.edges }),
    names: () => app.update({ names: !app.state.names }),
    theme: () => app.update({ theme: app.theme === "dark" ? "light" : "dark" }),
  };
  const clicks = {
    "zoom-in": () => actions.zoom(1.6),
    "zoom-out": () => actions.zoom(1 / 1.6),
    fit: actions.fit,
    pan: () => actions.mode("pan"),
    lasso: () => actions.mode("lasso"),
    box: () => actions.mode("box"),
    edges: actions.edges,
    names: actions.names,
    theme: actions.theme,
    link: () => copyText(location.href.split("#")[0] + "#" + encodeState(app), "Link to this view copied"),
    png: () => savePng(app),
    print: () => window.print(),
    "open-help": () => byId("help").showModal(),
    "close-help": () => byId("help").close(),
    "toggle-legend": () => closeLegend(!byId("legend").classList.contains("closed")),
  };
  for (const [id, click] of Object.entries(clicks)) byId(id).addEventListener("click", click);
  byId("edges").hidden = !app.data.edges;
  app.listeners.push(() => {
    for (const mode of ["pan", "lasso", "box"]) byId(mode).setAttribute("aria-pressed", String(app.state.mode === mode));
    byId("edges").setAttribute("aria-pressed", String(app.state.edges));
    byId("names").setAttribute("aria-pressed", String(app.state.names));
    byId("theme").setAttribute("aria-pressed", String(app.theme === "dark"));
    byId("points").classList.toggle("draws", app.state.mode !== "pan");
  });
  return actions;
}

function closeLegend(closed) {
  byId("legend").classList.toggle("closed", closed);
  byId("toggle-legend").setAttribute("aria-expanded", String(!closed));
}

const ROOMY = 1000; // pixels of a page with room for points between panel and legend

// Fit all layers to the size at which the page shows them, and the view to what the panels leave free.
function followWindow(app) {
  const canvases = [byId("points"), byId("overlay")];
  let roomy = true;
  app.resize = () => {
    const { clientWidth: width, clientHeight: height } = canvases[0];
    if (roomy !== width >= ROOMY) {
      roomy = !roomy;
      closeLegend(!roomy);
    }
    app.ratio = Math.min(window.devicePixelRatio || 1, 2.5);
    for (const canvas of canvases) {
      canvas.width = Math.round(width * app.ratio);
      canvas.height = Math.round(height * app.ratio);
    }
    const narrow = width < 720;
    const panel = byId("panel").getBoundingClientRect();
    const legend = byId("legend").getBoundingClientRect();
    const bars = [byId("tools"), byId("timebar")].filter((bar) => !bar.hidden);
    app.view.resize(width, height, {
      left: narrow ? 50 : panel.right,
      right: roomy ? width - legend.left : 0,
      top: narrow ? 48 : 0,
      bottom: height - Math.min(...(narrow ? [byId("panel")] : bars).map((bar) => bar.getBoundingClientRect().top)),
    });
    app.moved();
  };
  new ResizeObserver(() => app.resize()).observe(canvases[0]);
}

function startPainter(app) {
  const canvas = byId("points");
  try {
    app.painter = new Painter(canvas, app.data);
  } catch (error) {
    showProblem(error);
    return;
  }
  canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
  canvas.addEventListener("webglcontextrestored", () => {
    app.painter.build();
    app.update({ colour: app.state.colour, hidden: app.state.hidden });
  });
}

function showProblem(error) {
  const problem = byId("problem");
  problem.hidden = false;
  problem.textContent = error instanceof Error ? error.message : String(error);
}

async function start() {
  const data = await readData();
  const app = new App(data);
  startPainter(app);
  app.overlay = new Overlay(app, byId("overlay"));
  app.pointAt = (id, event) => {
    showTooltip(app, id, event);
    byId("points").classList.toggle("found", id >= 0);
    if (id === app.hover) return;
    app.hover = id;
    app.requestFrame();
  };
  followWindow(app);
  app.legend = new Legend(app);
  app.panel = new Panel(app);
  app.timeBar = new TimeBar(app);
  app.pointer = new Pointer(app, byId("points"));
  followKeys(app, addActions(app));
  preparePrint(app);
  if (window.innerWidth < 720) app.panel.collapse(true);
  app.resize();
  followAddress(app);
  app.resize();
  app.painter?.connect(app.shown);
  byId("points").setAttribute("aria-label", `Map of ${formatNumber(data.n)} items. The same items are in the list.`);
  byId("loading").hidden = true;
  return app;
}

// For scripts and tests: the app once it runs.
window.softvecMap = start().catch((error) => {
  byId("loading").hidden = true;
  showProblem(error);
  throw error;
});
