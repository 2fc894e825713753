// State in the address: what comes after # says the view, colour, search, selection and item, so that a link
// shows a colleague the same.

function encodeState(app) {
  const { state, view, data } = app;
  const start = app.defaults();
  const parts = new URLSearchParams();
  if (!view.isHome()) {
    const span = Math.min(view.width, view.height) / view.scale;
    parts.set("v", [view.x, view.y, span].map((value) => Number(value.toFixed(2))).join(","));
  }
  if (state.colour !== start.colour) parts.set("c", state.colour < 0 ? "none" : data.columns[state.colour].name);
  if (state.hidden.length) parts.set("h", state.hidden.join("."));
  if (state.sides.length) parts.set("s", state.sides.join("."));
  if (state.focus >= 0) parts.set("i", state.focus);
  if (state.area) parts.set("a", state.area.map((value) => value.toString(36)).join("."));
  if (state.query) parts.set("q", state.query);
  if (state.time >= 0) parts.set("t", state.time);
  for (const key of ["edges", "names"]) if (state[key] !== start[key]) parts.set(key, Number(state[key]));
  if (state.theme !== start.theme) parts.set("theme", state.theme);
  return parts.toString();
}

function wholeNumbers(text, base, least, most) {
  return (text ?? "")
    .split(".")
    .map((part) => parseInt(part, base))
    .filter((value) => value >= least && value <= most);
}

// Return the state that an address says; what it does not say, or says wrongly, is the default.
function decodeState(app, fragment) {
  const parts = new URLSearchParams(fragment);
  const { data } = app;
  const state = app.defaults();
  const colour = data.columns.findIndex((c) => c.name === parts.get("c") && c.kind !== "text");
  if (parts.get("c") === "none") state.colour = -1;
  else if (colour >= 0) state.colour = colour;
  const groups = data.columns[state.colour]?.groups.length ?? 0;
  state.hidden = wholeNumbers(parts.get("h"), 10, 0, groups);
  state.sides = wholeNumbers(parts.get("s"), 10, 0, 1);
  state.focus = wholeNumbers(parts.get("i"), 10, 0, data.n - 1)[0] ?? -1;
  const area = wholeNumbers(parts.get("a"), 36, -GRID, 2 * GRID);
  state.area = area.length >= 6 && area.length % 2 === 0 ? area : null;
  state.query = (parts.get("q") ?? "").slice(0, 200);
  if (data.times) state.time = wholeNumbers(parts.get("t"), 10, 0, data.times.values.length - 1)[0] ?? -1;
  if (parts.has("edges")) state.edges = Boolean(data.edges) && parts.get("edges") === "1";
  if (parts.has("names")) state.names = parts.get("names") === "1";
  if (["light", "dark", "auto"].includes(parts.get("theme"))) state.theme = parts.get("theme");
  const [x, y, span] = (parts.get("v") ?? "").split(",").map(Number);
  const view = [x, y, span].every(Number.isFinite) && span > 0 ? { x, y, span } : null;
  return { state, view };
}

// Apply an address, and keep it up to date from now on.
function followAddress(app) {
  let written = location.hash.slice(1);
  const apply = () => {
    const { state, view } = decodeState(app, location.hash.slice(1));
    app.update(state);
    if (view) {
      const scale = Math.min(Math.min(app.view.width, app.view.height) / view.span, MAX_SCALE);
      Object.assign(app.view, { x: view.x, y: view.y, scale, flight: null });
    } else Object.assign(app.view, app.view.home, { flight: null });
    app.moved();
  };
  apply();
  window.addEventListener("hashchange", () => {
    if (location.hash.slice(1) === written) return;
    written = location.hash.slice(1);
    apply();
  });
  let waiting = 0;
  app.saveLink = () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      const text = encodeState(app);
      if (text === written) return;
      written = text;
      try {
        history.replaceState(null, "", "#" + text);
      } catch {
        // a page inside a frame without an origin has no address of its own
      }
    }, 250);
  };
}
