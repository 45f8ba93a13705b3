// Mouse and keyboard, and the start of the page.

const THEMES = ["auto", "light", "dark"];
const dress = (theme) => {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  find("theme").textContent = "Theme: " + theme;
  paint();
};
const theme = () => document.documentElement.dataset.theme ?? "auto";

find("theme").onclick = () => {
  const next = THEMES[(THEMES.indexOf(theme()) + 1) % THEMES.length];
  dress(next);
  try { localStorage.setItem("theme", next); } catch { /* unavailable */ }
};
find("zoom-out").onclick = () => zoom(0, 1);
search.oninput = () => { filter(); remember(); };
table.onclick = (event) => {
  const row = rowAt(event.target);
  if (!row) return;
  if (event.target.closest(".fold:enabled")) return fold(row);
  if (String(getSelection())) return;
  focus(row);
  toggle(row);
};
table.onkeydown = (event) => {
  const row = rowAt(event.target);
  if (!row || event.ctrlKey || event.metaKey || event.altKey) return;
  const move = {
    ArrowDown: () => focus(listed[row.index + 1]),
    ArrowUp: () => focus(listed[row.index - 1]),
    Home: () => focus(listed[0]),
    End: () => focus(listed.at(-1)),
    ArrowRight: () => row.isFolded ? fold(row, false) : row.hasBelow && focus(listed[row.index + 1]),
    ArrowLeft: () => row.hasBelow && !row.isFolded ? fold(row, true) : focus(rows[row.parent]),
    z: () => zoomTo(row),
  }[event.key];
  if (move) { event.preventDefault(); move(); }
};
document.onkeydown = (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target === search) {
    if (event.key === "Escape" && search.value) { search.value = ""; filter(); remember(); event.preventDefault(); }
    if (event.key === "ArrowDown" || event.key === "Enter") { focus(current); event.preventDefault(); }
    return;
  }
  if (event.key === "/") { search.focus(); search.select(); event.preventDefault(); }
  if (event.key === "0") zoom(0, 1);
};

rows.forEach(join);
table.classList.toggle("uncounted", !totals.is_counted);
heading();
let stored;
try { stored = localStorage.getItem("theme"); } catch { /* unavailable */ }
dress(THEMES.includes(stored) ? stored : "auto");
scale();
recall();
addEventListener("hashchange", recall);
addEventListener("resize", scale);
addEventListener("beforeprint", () => drawTo(listed.length));
end.observe(find("end"));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => paint());
