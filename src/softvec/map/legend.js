// Legend: what is coloured, groups that can be switched off, or the bar of a number.

const FINDABLE = 24; // groups; a longer list can be searched

class Legend {
  constructor(app) {
    this.app = app;
    this.select = byId("colour");
    const options = app.data.columns.map((column, i) =>
      column.kind === "text" ? null : make("option", { value: i, text: visible(column.name, 40) }),
    );
    this.select.append(...options.filter(Boolean), make("option", { value: -1, text: "one colour" }));
    this.select.addEventListener("change", () => app.update({ colour: Number(this.select.value) }));
    byId("find-group").addEventListener("input", () => this.showGroups());
    byId("all-groups").addEventListener("click", () => app.update({ hidden: [] }));
    byId("no-groups").addEventListener("click", () => app.update({ hidden: this.groups() }));
    app.listeners.push((touched) => {
      if (touched.has("colour") || touched.has("theme") || touched.has("hidden") || touched.has("sides")) this.show();
    });
  }

  groups() {
    const { column, scale } = this.app;
    const groups = column.groups.map((_, i) => i + 1);
    return scale.counts[0] ? [...groups, 0] : groups;
  }

  show() {
    const { app } = this;
    const { column } = app;
    this.select.value = app.state.colour;
    const category = column?.kind === "category";
    byId("groups").hidden = byId("group-buttons").hidden = !category;
    byId("find-group").hidden = !category || this.groups().length <= FINDABLE;
    byId("bar").hidden = column?.kind !== "number";
    if (category) this.showGroups();
    if (column?.kind === "number") this.showBar();
    byId("sides").hidden = !app.data.twoSided;
    if (app.data.twoSided) this.showSides();
  }

  showGroups() {
    const { app } = this;
    const { column, scale } = app;
    const list = byId("groups");
    const focused = list.contains(document.activeElement) ? document.activeElement.dataset.group : undefined;
    const wanted = byId("find-group").hidden ? "" : byId("find-group").value.trim().toLowerCase();
    const groups = this.groups().filter((group) => (column.groups[group - 1] ?? "none").toLowerCase().includes(wanted));
    const rows = groups.slice(0, 300).map((group) => {
      const text = group ? visible(column.groups[group - 1], 60) : "none";
      return this.toggle(group, text, scale.counts[group], "hidden", this.groups(), {
        colour: scale.groupColour(group, app.theme), shape: scale.groupShape(group),
      });
    });
    const rest = groups.length - rows.length;
    if (rest > 0) rows.push(make("li", { class: "quiet", text: `and ${formatNumber(rest)} more groups` }));
    list.replaceChildren(...rows);
    if (focused !== undefined) list.querySelector(`[data-group="${Number(focused)}"]`)?.focus();
  }

  showSides() {
    const { data } = this.app;
    const counts = [data.header.firstContext, data.n - data.header.firstContext];
    byId("sides").replaceChildren(
      ...data.header.sides.map((name, side) =>
        this.toggle(side, visible(name, 40), counts[side], "sides", [0, 1], { shape: side ? 3 : 0 }),
      ),
    );
  }

  // A row of the legend: a click switches it off and on, a double click or Shift leaves it alone.
  toggle(group, text, count, key, all, { colour, shape }) {
    const { app } = this;
    const off = app.state[key].includes(group);
    const swatch = make("span", { class: "swatch shape" + shape, "aria-hidden": "true" });
    if (colour) swatch.style.setProperty("--colour", css(colour));
    const only = () => app.update({ [key]: all.filter((other) => other !== group) });
    const button = make(
      "button",
      {
        type: "button",
        class: "row",
        "aria-pressed": String(!off),
        "data-group": group,
        title: "Click: turn off or on. Shift-click: show only this group",
        onclick: (event) => {
          const { [key]: hidden } = app.state;
          if (event.shiftKey) only();
          else app.update({ [key]: off ? hidden.filter((g) => g !== group) : [...hidden, group] });
        },
      },
      swatch,
      make("bdi", { class: "name", text: text === "" ? "(empty)" : text }),
      make("span", { class: "value", text: formatNumber(count) }),
    );
    return make("li", {}, button);
  }

  showBar() {
    const { app } = this;
    const { scale } = app;
    const stops = Array.from({ length: 9 }, (_, i) => css(ramp(app.theme, i / 8)));
    byId("bar-colours").style.background = `linear-gradient(to right, ${stops.join(", ")})`;
    byId("bar-low").textContent = scale.show(scale.low);
    byId("bar-high").textContent = scale.show(scale.high);
    byId("bar-scale").textContent = scale.log ? "logarithmic" : "";
  }
}
