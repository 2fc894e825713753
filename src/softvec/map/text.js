// Text: names are untrusted, so they reach the page only as text, cut and with hidden characters shown.

const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

// Return a text fit for display: control characters and direction marks visible, at most `limit` characters.
function visible(text, limit = 90) {
  const whole = Array.from(text.slice(0, 2 * limit + 2));
  const cut = whole.length > limit ? whole.slice(0, limit - 1).join("") + "…" : whole.join("");
  return cut.replace(HIDDEN, (c) => "‹" + c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0") + "›");
}

// Return a text without accents and case, for search.
function fold(text) {
  return text.normalize("NFKD").replace(/\p{M}+/gu, "").toLowerCase();
}

// Return a number as a reader wants it: at most four significant digits, whole numbers whole.
function formatNumber(value) {
  if (!Number.isFinite(value)) return "–";
  if (Number.isInteger(value)) {
    return Math.abs(value) < 1e15 ? value.toLocaleString("en-US") : value.toExponential(3);
  }
  const size = Math.abs(value);
  return size >= 1e6 || size < 1e-3 ? value.toExponential(2) : String(Number(value.toPrecision(4)));
}

// Return seconds since 1970 as a date, with the time of day where it is not midnight.
function formatDate(seconds) {
  const text = new Date(seconds * 1000).toISOString();
  return text.replace("T", " ").replace(/( 00:00)?(:00)?(\.000)?Z$/, "");
}

// Return a cell of a CSV file. A spreadsheet would run a text that begins with = + - @ as a formula;
// an apostrophe before it makes it text. Numbers stay as they are.
function csvCell(value) {
  let text = String(value);
  if (/^\s*[=+\-@\t\r]/.test(text) && !/^[-+]?\d+(\.\d+)?([eE][-+]?\d+)?$/.test(text)) text = "'" + text;
  return /[",\r\n]/.test(text) || text !== text.trim() ? '"' + text.replaceAll('"', '""') + '"' : text;
}

// Make an element; `text` is its text, keys that begin with "on" are listeners.
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key === "text") element.textContent = value;
    else if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

// Make an element that shows a name apart from the direction of the text around it.
function nameElement(text, limit) {
  const shown = visible(text, limit);
  return make("bdi", { class: "name", text: shown === "" ? "(no name)" : shown });
}

function byId(id) {
  return document.getElementById(id);
}
