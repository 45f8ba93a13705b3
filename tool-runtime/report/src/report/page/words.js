// Data of the page, and the formatting of texts and numbers.

const find = (id) => document.getElementById(id);
const data = JSON.parse(find("data").textContent);
const { totals, rows } = data;
const length = Math.max(data.length, 1);
const table = find("table"), search = find("search"), overview = find("overview");

const count = (number) => number.toLocaleString("en");

const time = (micros) => {
  const round = (value, unit) => (value < 10 ? value.toFixed(2) : value < 100 ? value.toFixed(1) : value.toFixed(0)) + unit;
  const seconds = micros / 1e6;
  if (micros < 1000) return micros + " µs";
  if (micros < 999500) return round(micros / 1000, " ms");
  if (seconds < 60) return round(seconds, " s");
  const parts = (big, small, of) => Math.floor(big) + of[0] + " " + String(Math.floor(small)).padStart(2, "0") + of[1];
  if (seconds < 3600) return parts(seconds / 60, seconds % 60, [" min", " s"]);
  return parts(seconds / 3600, (seconds / 60) % 60, [" h", " min"]);
};

const moment = (micros) => {
  const date = new Date(micros / 1000);
  return isNaN(date) ? "unknown" : date.toISOString().replace("T", " ").replace("Z", " UTC");
};

const make = (tag, name, ...children) => {
  const element = document.createElement(tag);
  if (name) element.className = name;
  element.append(...children);
  return element;
};

// Invisible characters, and those that change the display of others, are shown as code points.
const ODD = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]|[\ud800-\udfff]/gu;
const shown = (text) => {
  const nodes = [];
  let from = 0;
  for (const odd of text.matchAll(ODD)) {
    const code = odd[0].codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
    nodes.push(text.slice(from, odd.index), make("span", "odd", "U+" + code));
    from = odd.index + odd[0].length;
  }
  nodes.push(text.slice(from));
  return nodes;
};

// Indents long valid JSON without changing its tokens. Any other text stays unchanged.
const indented = (text) => {
  if (text.length < 80 || !/^\s*[{[]/.test(text)) return text;
  try { JSON.parse(text); } catch { return text; }
  let depth = 0;
  const line = () => "\n" + "  ".repeat(depth);
  return text.replace(/"(?:[^"\\]|\\.)*"|[{[]\s*[}\]]|[{}[\],:]|\s+|[^\s{}[\],:"]+/gs, (token) => {
    if (/^\s/.test(token)) return "";
    if (/^[{[].*[}\]]$/s.test(token)) return token[0] + token.at(-1);
    if (token === "{" || token === "[") return depth++, token + line();
    if (token === "}" || token === "]") return depth--, line() + token;
    if (token === ",") return token + line();
    return token === ":" ? ": " : token;
  });
};
