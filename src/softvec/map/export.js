// Export: names as CSV, the picture as PNG, the link, print.

function say(text) {
  byId("status").textContent = text;
  const toast = byId("toast");
  toast.textContent = text;
  toast.hidden = false;
  clearTimeout(toast.timer);
  toast.timer = setTimeout(() => (toast.hidden = true), 2500);
}

function download(blob, name) {
  const link = make("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function fileName(app, ending) {
  const plain = fold(app.data.header.title).replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 60);
  return (plain || "map") + ending;
}

// Return items as CSV: names, then every column.
function toCsv(app, ids) {
  const { data } = app;
  const lines = [["name", ...data.columns.map((column) => column.name)]];
  for (const id of ids) {
    const cells = data.columns.map((column) => {
      if (column.kind !== "number") return data.cell(column, id);
      return Number.isFinite(column.values[id]) ? column.values[id] : "";
    });
    lines.push([data.names[id], ...cells]);
  }
  return lines.map((cells) => cells.map(csvCell).join(",") + "\r\n").join("");
}

async function copyText(text, done) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = make("textarea", { class: "away", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    const copied = document.execCommand("copy");
    area.remove();
    if (!copied) return say("The browser does not allow copying here");
  }
  say(done);
}

// Draw the map, its title and its legend on a canvas of its own.
function picture(app, theme, ratio) {
  const { view, painter } = app;
  const canvas = make("canvas");
  canvas.width = Math.round(view.width * ratio);
  canvas.height = Math.round(view.height * ratio);
  const context = canvas.getContext("2d");
  if (painter) {
    painter.canvas.width = canvas.width;
    painter.canvas.height = canvas.height;
    painter.recolour(app.scale, theme, app.alpha);
    painter.draw(view, theme, { edges: app.state.edges, dimmed: app.dimmed, ratio });
    context.drawImage(painter.canvas, 0, 0);
  }
  app.overlay.draw(theme, true, context, ratio);
  drawLegend(app, context, theme);
  app.resize();
  painter?.recolour(app.scale, app.theme, app.alpha);
  app.requestFrame();
  return canvas;
}

function drawLegend(app, context, theme) {
  const { column, scale, data, view } = app;
  context.textBaseline = "middle";
  context.textAlign = "left";
  context.fillStyle = INK[theme];
  context.font = "600 16px system-ui, sans-serif";
  context.fillText(visible(data.header.title, 70), 20, 26);
  context.font = FONT;
  if (column?.kind === "number") {
    for (let i = 0; i < 120; i++) {
      context.fillStyle = css(ramp(theme, i / 119));
      context.fillRect(20 + i, 46, 1.5, 9);
    }
    context.fillStyle = INK[theme];
    const range = `${scale.show(scale.low)} – ${scale.show(scale.high)}`;
    context.fillText(`${visible(column.name, 30)}: ${range}`, 150, 51);
  }
  if (column?.kind !== "category") return;
  const most = Math.floor((view.height - 60) / 18);
  column.groups.slice(0, most).forEach((text, g) => {
    if (app.state.hidden.includes(g + 1)) return;
    context.fillStyle = css(scale.groupColour(g + 1, theme));
    context.beginPath();
    context.arc(26, 52 + 18 * g, 5, 0, 2 * Math.PI);
    context.fill();
    context.fillStyle = INK[theme];
    context.fillText(visible(text, 30), 38, 52 + 18 * g);
  });
}

function savePng(app) {
  picture(app, app.theme, Math.max(2, app.ratio)).toBlob((blob) => {
    download(blob, fileName(app, ".png"));
    say("Picture saved");
  });
}

// A printer needs a picture: what the graphics card drew is gone by the time the paper comes.
function preparePrint(app) {
  window.addEventListener("beforeprint", () => {
    const canvas = picture(app, "light", 2);
    canvas.id = "printed";
    document.body.append(canvas);
  });
  window.addEventListener("afterprint", () => byId("printed")?.remove());
}
