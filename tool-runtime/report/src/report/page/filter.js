// Filter of the rows: by search words and by the visible time range.

const view = { from: 0, to: 1, root: undefined };

const haystack = (row) => row.haystack ??=
  JSON.stringify([row.name, row.code, row.summary, status(row), row.notes, row.details])
    .replaceAll("\\n", " ").replaceAll('\\"', '"').replaceAll("\\\\", "\\").toLowerCase();

const matches = (row, words) => words.every((word) => word.startsWith("is:")
  ? [row.kind, row.state, ...(row.marks ?? [])].includes(word.slice(3))
  : haystack(row).includes(word));

const filter = () => {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const from = view.from * length, to = view.to * length;
  let found = 0;
  for (const row of rows) {
    const isThere = (view.root === undefined || row.root === view.root) && row.end >= from && row.start <= to;
    row.isFound = isThere && matches(row, words);
    row.isAround = false;
    found += row.isFound;
  }
  for (const row of rows.toReversed()) {
    if ((row.isFound || row.isAround) && row.parent !== undefined) rows[row.parent].isAround = true;
  }
  put(rows.filter((row) => {
    const above = rows[row.parent];
    row.isBelowFold = !!above && (above.isBelowFold || !!above.isFolded);
    return (row.isFound || row.isAround) && (words.length > 0 || !row.isBelowFold);
  }));
  find("count").textContent = found === rows.length ? `${count(found)} rows` : `${count(found)} of ${count(rows.length)} rows`;
  const nothing = find("nothing");
  nothing.hidden = found > 0;
  nothing.textContent = rows.length ? "No matching rows." : "No events.";
  for (const button of document.querySelectorAll("#totals button")) {
    button.setAttribute("aria-pressed", words.includes(button.dataset.word));
  }
  if (!isListed(current)) focus(listed[0], false);
};

// The search and the last opened row are part of the address.
const remember = (row) => {
  const parts = new URLSearchParams();
  if (search.value) parts.set("q", search.value);
  if (row) parts.set("row", row.place);
  const hash = parts.toString();
  try { history.replaceState(null, "", hash ? "#" + hash : location.pathname + location.search); } catch { /* unavailable */ }
};

const recall = () => {
  const parts = new URLSearchParams(location.hash.slice(1));
  search.value = parts.get("q") ?? "";
  filter();
  const row = parts.has("row") && rows.at(Number(parts.get("row")));
  if (isListed(row)) { toggle(row, true); focus(row); row.element.scrollIntoView({ block: "center" }); }
};
