// Lists of items: what a mouse finds on the map, a keyboard and a screen reader find here.

const PAGE = 40; // rows shown at first, and added by "more"

// Make the row of an item: its colour, its name, and perhaps a number.
function itemRow(app, id, value) {
  const swatch = make("span", { class: "swatch shape" + app.scale.shape(id), "aria-hidden": "true" });
  swatch.style.setProperty("--colour", css(app.scale.colour(id, app.theme)));
  const button = make(
    "button",
    { type: "button", class: "row", onclick: () => app.update({ focus: id }), "data-id": id },
    swatch,
    nameElement(app.data.names[id], 80),
  );
  button.addEventListener("pointerenter", () => app.pointAt(id));
  button.addEventListener("focus", () => app.pointAt(id));
  button.addEventListener("pointerleave", () => app.pointAt(-1));
  if (value !== undefined) button.append(make("span", { class: "value", text: value }));
  return make("li", {}, button);
}

// Fill a list with items, a page at a time.
function fillList(app, list, ids, valueOf) {
  const rows = (from) =>
    Array.from({ length: Math.min(PAGE, ids.length - from) }, (_, i) => ids[from + i]).map((id) =>
      itemRow(app, id, valueOf?.(id)),
    );
  const more = (from) => {
    if (from >= ids.length) return;
    const button = make("button", {
      type: "button",
      class: "more",
      text: `Show more (${formatNumber(ids.length - from)} left)`,
      onclick: () => {
        const added = rows(from);
        item.replaceWith(...added);
        added[0].firstChild.focus();
        more(from + added.length);
      },
    });
    const item = make("li", {}, button);
    list.append(item);
  };
  list.replaceChildren(...rows(0));
  more(Math.min(PAGE, ids.length));
}
