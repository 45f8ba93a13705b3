// List of the rows. Rows are rendered as far as the reader scrolls, because there may be many thousands.

const AT_ONCE = 300;
const list = find("rows");
let listed = [], drawn = 0;

const drawTo = (count) => {
  const more = listed.slice(drawn, count);
  drawn += more.length;
  list.append(...more.flatMap((row) => {
    row.element ??= elementOf(row);
    row.element.classList.toggle("is-around", !row.isFound);
    return row.detail ? [row.element, row.detail] : [row.element];
  }));
};

// Renders as many rows as before, and keeps the focus.
const put = (rows) => {
  const focused = document.activeElement, before = drawn;
  listed = rows;
  listed.forEach((row, index) => row.index = index);
  drawn = 0;
  list.replaceChildren();
  drawTo(Math.max(before, AT_ONCE));
  if (focused !== document.activeElement && focused.isConnected) focused.focus({ preventScroll: true });
};

const isListed = (row) => !!row && listed[row.index] === row;

const shownAt = (row) => {
  if (row.index >= drawn) drawTo(row.index + AT_ONCE);
  return row.element;
};

const end = new IntersectionObserver(([{ isIntersecting }]) => {
  if (!isIntersecting || drawn >= listed.length) return;
  drawTo(drawn + AT_ONCE);
  // Observed again, in case it is still visible.
  end.unobserve(find("end"));
  end.observe(find("end"));
}, { rootMargin: "1500px" });
