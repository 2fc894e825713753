// Keyboard: everything that a mouse does. The keys are listed in the help of the page.

const STEP = 60; // pixels that an arrow key pans

function followKeys(app, actions) {
  byId("points").addEventListener("keydown", (event) => {
    const pans = { ArrowLeft: [STEP, 0], ArrowRight: [-STEP, 0], ArrowUp: [0, STEP], ArrowDown: [0, -STEP] };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in pans) {
      app.view.pan(...pans[event.key]);
      app.moved();
    } else if (event.key === "Enter" || event.key === " ") {
      // the item nearest to the middle of what is seen
      const { view } = app;
      const [x, y] = [(view.width + view.inset.left - view.inset.right) / 2, view.height / 2];
      const id = app.pick(x, y, 2 * (view.width + view.height));
      if (id >= 0) app.update({ focus: id });
    } else return;
    event.preventDefault();
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, select, textarea, dialog")) return;
    const action = {
      "+": () => actions.zoom(1.5),
      "=": () => actions.zoom(1.5),
      "-": () => actions.zoom(1 / 1.5),
      0: actions.fit,
      "/": () => byId("search").focus(),
      n: () => nextNeighbour(app),
      p: () => actions.mode("pan"),
      l: () => actions.mode("lasso"),
      b: () => actions.mode("box"),
      e: actions.edges,
      t: actions.names,
      d: actions.theme,
      "?": () => byId("help").showModal(),
      Escape: () => clearOne(app),
    }[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
}

// Go to the nearest neighbour that was not looked at on this way.
function nextNeighbour(app) {
  const next = app.nearest.find(({ id }) => !app.panel.trail.includes(id)) ?? app.nearest[0];
  if (next) app.update({ focus: next.id });
}

// Escape takes back one thing at a time.
function clearOne(app) {
  const { state } = app;
  if (state.focus >= 0) app.update({ focus: -1 });
  else if (state.area) app.update({ area: null });
  else if (state.query) app.update({ query: "" });
  else if (state.mode !== "pan") app.update({ mode: "pan" });
}
