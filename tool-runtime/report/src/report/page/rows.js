// Rendering of a row in the waterfall.

const STATUS = {
  done: (row) => row.marks?.includes("refused") ? "↻" : "✓",
  failed: (row) => "✗ " + (row.code ?? "failed"),
  blocked: (row) => "⊘ " + (row.code ?? "blocked"),
  waiting: (row) => row.is_continued ? "… awaited approval" : "… awaiting approval",
  open: (row) => row.is_continued ? "◌ resumed later" : "◌ unfinished",
};
const status = (row) => {
  if (row.kind === "event") return "";
  const marks = (row.marks ?? []).join(", ");
  return STATUS[row.state](row) + (marks && row.state === "done" ? " " + marks : "");
};

const at = (element, start, end) => {
  element.style.setProperty("--s", start / length);
  if (end !== undefined) element.style.setProperty("--e", end / length);
  return element;
};

const cell = (name, ...children) => {
  const element = make("span", name, ...children);
  element.setAttribute("role", "cell");
  return element;
};

const join = (row, place) => {
  row.place = place;
  row.depth = row.parent === undefined ? 0 : rows[row.parent].depth + 1;
  // A resumed run is one with its earlier part.
  const above = row.parent ?? (row.previous < place ? row.previous : undefined);
  row.root = above === undefined ? place : rows[above].root;
  if (row.parent !== undefined) rows[row.parent].hasBelow = true;
};

const elementOf = (row) => {
  const fold = make("button", "fold", row.hasBelow ? "▾" : "");
  fold.tabIndex = -1;
  if (row.hasBelow) fold.setAttribute("aria-label", "Fold"); else fold.disabled = true;
  const name = make("button", "name", make("b", "", ...shown(row.name)));
  if (row.summary) name.append(" ", make("span", row.kind === "tool" ? "" : "prose", ...shown(row.summary)));
  name.tabIndex = -1;
  name.setAttribute("aria-expanded", "false");
  const tokens = row.usage ? `${count(row.usage.input_tokens)} → ${count(row.usage.output_tokens)}` : "";
  const when = cell("when", at(make("i", `bar ${row.kind} ${row.state}`), row.start, row.end));
  for (const note of (row.notes ?? []).slice(0, 20)) {
    if (["run", "tool"].includes(row.kind) && note.name !== "tool.progress") when.append(at(make("i", "mark"), note.at));
  }
  const duration = row.kind === "event" ? "" : (row.state === "open" ? "≥ " : "") + time(row.end - row.start);
  const element = make("div", `row ${row.kind} ${row.state}`,
    cell("call", fold, name), cell("turn", row.turn && row.kind !== "run" ? row.turn : ""),
    cell("status", ...shown(status(row))), cell("tokens", tokens), cell("time", duration), when);
  element.setAttribute("role", "row");
  element.style.setProperty("--depth", row.depth);
  element.dataset.place = row.place;
  return element;
};

const rowAt = (target) => {
  const element = target.closest?.(".row");
  return element ? rows[element.dataset.place] : undefined;
};

const toggle = (row, isOpen = !row.detail) => {
  if (isOpen === !!row.detail) return;
  const element = shownAt(row);
  if (isOpen) element.after(row.detail = detailOf(row));
  else { row.detail.remove(); row.detail = undefined; }
  element.classList.toggle("is-open", isOpen);
  element.querySelector(".name").setAttribute("aria-expanded", isOpen);
  remember(isOpen ? row : undefined);
};

const fold = (row, isFolded = !row.isFolded) => {
  if (!row.hasBelow) return;
  row.isFolded = isFolded;
  const button = row.element.querySelector(".fold");
  button.textContent = isFolded ? "▸" : "▾";
  button.setAttribute("aria-label", isFolded ? "Unfold" : "Fold");
  filter();
};

// The row that the Tab key focuses; arrow keys move on from it.
let current;
const focus = (row, isMoved = true) => {
  if (!isListed(row)) return;
  if (current) current.element.querySelector(".name").tabIndex = -1;
  current = row;
  const element = shownAt(row), name = element.querySelector(".name");
  name.tabIndex = 0;
  if (isMoved) { name.focus({ preventScroll: true }); element.scrollIntoView({ block: "nearest" }); }
};
