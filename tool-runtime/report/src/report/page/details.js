// Details of a row.

// Fills an element with a text. Of a long text only the start is shown, with a button for the rest.
const fill = (element, text, letters, lines) => {
  const whole = text.replaceAll("\r\n", "\n");
  let cut = whole.slice(0, letters).split("\n").slice(0, lines).join("\n");
  if (/[\ud800-\udbff]$/.test(cut) && cut.length < whole.length) cut = cut.slice(0, -1);
  element.append(...shown(cut));
  if (cut.length === whole.length) return [];
  const more = make("button", "more", `Show all ${count(whole.length)} characters`);
  element.append(" …");
  more.onclick = () => { element.replaceChildren(...shown(whole)); more.remove(); };
  return [more];
};

const textOf = (text) => {
  const pre = make("pre");
  return [pre, ...fill(pre, text, 3000, 40)];
};

const cellOf = (text) => {
  const words = make("div");
  const isNumber = /^\+?\d[\d.,\u2013]*( [µm]?s)?$/.test(text);
  return make("td", isNumber ? "number" : "", words, ...fill(words, text, 500, 10));
};

const tableOf = (head, cells) => make("div", "wide", make("table", "",
  make("thead", "", make("tr", "", ...head.map((name) => make("th", "", name)))),
  make("tbody", "", ...cells.map((row) => make("tr", "", ...row.map(cellOf))))));

const factOf = (fact) =>
  typeof fact === "number" ? count(fact) : typeof fact === "string" ? fact : "at" in fact ? moment(fact.at) : time(fact.duration);

const partOf = (part) => {
  if (part.facts) {
    return [make("dl", "facts", ...part.facts.map(([name, fact]) =>
      make("div", "", make("dt", "", name), make("dd", "", ...shown(factOf(fact))))))];
  }
  const title = make("h2", "", part.title);
  if (part.head) return [title, tableOf(part.head, part.cells)];
  const parts = textOf(part.form === "json" ? indented(part.text) : part.text);
  parts[0].classList.add(part.form);
  if (part.form === "folded") return [make("details", "", make("summary", "", part.title), ...parts)];
  return [title, ...parts];
};

const detailOf = (row) => {
  const parts = (row.details ?? []).flatMap(partOf);
  if (row.notes) {
    const cells = row.notes.map((note) => ["+" + time(note.at - row.start), note.name, note.text]);
    if (row.more_notes) cells.splice(-1, 0, ["", "…", `${count(row.more_notes)} more`]);
    parts.push(make("h2", "", "Events"), tableOf(["Time", "Event", "Details"], cells));
  }
  const detail = make("div", "detail", ...parts);
  detail.setAttribute("role", "row");
  return detail;
};
