// Panel: search, the item in focus with its neighbours, the selection, and the list of items.

class Panel {
  constructor(app) {
    this.app = app;
    this.trail = []; // items looked at before
    const { header } = app.data;
    byId("title").textContent = visible(header.title, 120);
    byId("subtitle").textContent = `${formatNumber(app.data.n)} items, ${header.subtitle}`;
    byId("notes").replaceChildren(...header.notes.map((note) => make("p", { text: visible(note, 300) })));
    this.search = byId("search");
    let waiting = 0;
    this.search.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => app.update({ query: this.search.value }), 70);
    });
    this.search.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && app.hits?.length) this.open(app.hits[0]);
      if (event.key === "ArrowDown") byId("list").querySelector("button")?.focus();
      if (event.key === "Escape") app.update({ query: "" });
      if (["Enter", "ArrowDown", "Escape"].includes(event.key)) event.preventDefault();
    });
    byId("list").addEventListener("keydown", (event) => this.walk(event));
    byId("collapse").addEventListener("click", () => this.collapse(!byId("panel").classList.contains("closed")));
    byId("browse").addEventListener("click", () => this.toggleList());
    byId("close-item").addEventListener("click", () => app.update({ focus: -1 }));
    byId("find-item").addEventListener("click", () => app.show([app.state.focus]));
    byId("back").addEventListener("click", () => {
      this.trail.pop();
      app.update({ focus: this.trail.pop() ?? -1 });
    });
    byId("clear-area").addEventListener("click", () => app.update({ area: null }));
    byId("copy-names").addEventListener("click", () => {
      const ids = app.chosen;
      copyText(toCsv(app, ids), `Copied ${formatNumber(ids.length)} items as CSV`);
    });
    byId("save-names").addEventListener("click", () => {
      const blob = new Blob(["\ufeff", toCsv(app, app.chosen)], { type: "text/csv;charset=utf-8" });
      download(blob, fileName(app, "-selection.csv"));
    });
    app.listeners.push((touched, first) => this.refresh(touched, first));
  }

  refresh(touched, first) {
    const { state } = this.app;
    const seen = (...keys) => first || keys.some((key) => touched.has(key));
    if (seen("query") && this.search.value !== state.query) this.search.value = state.query;
    if (seen("focus", "theme", "colour")) this.showItem(touched);
    const closed = byId("panel").classList.contains("closed");
    if (closed && (state.focus >= 0 || state.query || state.area) && seen("focus", "query", "area")) this.collapse(false);
    if (seen("area", "hidden", "sides", "time")) this.showArea();
    if (seen("query", "area", "theme", "colour", "hidden", "sides", "time")) this.showList();
  }

  open(id) {
    this.app.update({ focus: id });
    this.app.show([id, ...this.app.nearest.map((neighbour) => neighbour.id)]);
  }

  // Arrow keys go through a list.
  walk(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const buttons = [...byId("list").querySelectorAll("button")];
    const at = buttons.indexOf(document.activeElement) + step;
    if (at < 0) this.search.focus();
    else buttons[at]?.focus();
  }

  collapse(closed) {
    byId("panel").classList.toggle("closed", closed);
    byId("collapse").setAttribute("aria-expanded", String(!closed));
    this.app.resize();
  }

  toggleList() {
    const button = byId("browse");
    button.setAttribute("aria-expanded", String(button.getAttribute("aria-expanded") !== "true"));
    this.showList();
  }

  // The list shows what was searched, else the selection, else on request all items.
  showList() {
    const { app } = this;
    const open = byId("browse").getAttribute("aria-expanded") === "true";
    const shown = (ids) => Array.from(ids).filter((i) => app.shown[i] === 1);
    let ids = null;
    let heading = "";
    if (app.state.query.trim()) {
      ids = app.hits ?? [];
      heading = ids.length === 1 ? "1 hit" : `${formatNumber(ids.length)} hits`;
    } else if (app.state.area) {
      ids = app.chosen;
      heading = "Selected items";
    } else if (open) {
      ids = shown(app.data.order);
      heading = app.data.sizes ? "Items, largest first" : "Items";
    }
    byId("browse").hidden = Boolean(app.state.query.trim() || app.state.area);
    byId("hits").textContent = heading;
    byId("hits").hidden = ids === null;
    if (ids === null) byId("list").replaceChildren();
    else fillList(app, byId("list"), ids);
    if (app.state.query.trim()) byId("status").textContent = heading;
  }

  showItem(touched) {
    const { app } = this;
    const { focus } = app.state;
    byId("item").hidden = focus < 0;
    if (focus < 0) {
      this.trail = [];
      return;
    }
    if (touched.has("focus") && this.trail.at(-1) !== focus) this.trail.push(focus);
    byId("back").hidden = this.trail.length < 2;
    byId("item-name").replaceChildren(nameElement(app.data.names[focus], 300));
    byId("item-facts").replaceChildren(...facts(app.data, focus, 200));
    const lists = [];
    for (const kind of ["same", "other"]) {
      const near = app.nearest.filter((neighbour) => neighbour.kind === kind);
      if (!near.length) continue;
      const side = app.data.header.sides[kind === "same" ? app.data.side(focus) : 1 - app.data.side(focus)];
      const heading = app.data.twoSided ? `Nearest ${visible(side, 40)}` : "Nearest neighbours";
      const list = make("ol", { class: "rows", "aria-label": heading });
      list.append(...near.map(({ id, cosine }) => neighbourRow(app, id, cosine)));
      lists.push(make("h3", {}, heading, make("span", { class: "value", text: "cosine" })), list);
    }
    byId("neighbours").replaceChildren(...lists);
    if (touched.has("focus")) {
      byId("item").scrollIntoView({ block: "nearest" });
      byId("status").textContent = `${visible(app.data.names[focus])}, ${app.nearest.length} neighbours listed`;
    }
  }

  showArea() {
    const { app } = this;
    byId("area").hidden = !app.state.area;
    if (!app.state.area) return;
    const count = app.chosen.length;
    const text = count === 1 ? "1 item selected" : `${formatNumber(count)} items selected`;
    byId("area-count").textContent = text;
    byId("copy-names").disabled = byId("save-names").disabled = count === 0;
    byId("status").textContent = text;
  }
}

// A neighbour with its cosine as number and bar.
function neighbourRow(app, id, cosine) {
  const item = itemRow(app, id, cosine.toFixed(3));
  item.firstChild.style.setProperty("--share", String(Math.max(cosine, 0)));
  item.firstChild.classList.add("measured");
  return item;
}

// Return what is known of an item as terms and descriptions.
function facts(data, id, limit) {
  const rows = [];
  if (data.twoSided) rows.push(["side", data.header.sides[data.side(id)]]);
  for (const column of data.columns) {
    const text = data.cell(column, id);
    if (text !== "") rows.push([column.name, text]);
  }
  return rows.flatMap(([name, text]) => [
    make("dt", { text: visible(name, 40) }),
    make("dd", {}, make("bdi", { text: visible(text, limit) })),
  ]);
}
