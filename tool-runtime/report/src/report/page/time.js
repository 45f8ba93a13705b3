// The time axis, the overview, and the visible time range.

const axis = find("axis");
const scale = () => {
  const width = axis.clientWidth, part = view.to - view.from, visible = part * length;
  const least = (visible * 70) / Math.max(width, 1);
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  const step = [1, 2, 5, 10].map((n) => n * power).find((step) => step >= least) ?? 10 * power;
  const first = Math.ceil((view.from * length) / step) * step;
  axis.replaceChildren();
  for (let tick = first; tick < view.to * length && axis.childElementCount < 100; tick += step) {
    const share = (tick / length - view.from) / part;
    // The last tick has no room for its label.
    if ((1 - share) * width < 50) break;
    const label = make("span", "", tick ? time(Math.round(tick)).replace(/\.0+ /, " ") : "0");
    label.style.left = share * 100 + "%";
    axis.append(label);
  }
  table.style.setProperty("--from", view.from);
  table.style.setProperty("--zoom", 1 / part);
  table.style.setProperty("--step", (step / visible) * width + "px");
  table.style.setProperty("--offset", ((first - view.from * length) / visible) * width + "px");
  find("zoom-out").hidden = part === 1;
  paint();
};

const zoom = (from, to) => {
  const least = Math.min(1, 20 / length);
  [from, to] = [Math.max(0, Math.min(from, to)), Math.min(1, Math.max(from, to))];
  if (to - from < least) [from, to] = [Math.max(0, Math.min(from, 1 - least)), Math.min(1, from + least)];
  Object.assign(view, { from, to });
  scale();
  filter();
};

const zoomTo = (row) => {
  const around = row.parent === undefined ? 0 : Math.max(row.end - row.start, 1) * 0.1;
  zoom((row.start - around) / length, (row.end + around) / length);
};

const paint = (dragged) => {
  const pen = overview.getContext("2d"), ratio = devicePixelRatio || 1;
  const { width, height } = overview.getBoundingClientRect();
  overview.width = width * ratio;
  overview.height = height * ratio;
  pen.scale(ratio, ratio);
  const colour = (kind) => getComputedStyle(document.querySelector(`#legend .${kind}`)).backgroundColor;
  const colours = { model: colour("model"), tool: colour("tool"), failed: colour("failed") };
  const lane = Math.min((height - 8) / Math.max(data.lanes, 1), 10);
  for (const row of rows) {
    if (row.lane === undefined || (view.root !== undefined && row.root !== view.root)) continue;
    pen.fillStyle = colours[row.state] ?? colours[row.kind];
    const left = (row.start / length) * width, right = (row.end / length) * width;
    pen.fillRect(left, 4 + row.lane * lane, Math.max(right - left, 1.5), Math.max(lane - 1, 0.7));
  }
  const [from, to] = dragged ?? [view.from, view.to];
  if (to - from < 1) {
    const text = getComputedStyle(overview).color;
    pen.fillStyle = text;
    pen.globalAlpha = 0.22;
    pen.fillRect(0, 0, from * width, height);
    pen.fillRect(to * width, 0, width, height);
    pen.globalAlpha = 1;
    pen.fillRect(from * width, 0, 1, height);
    pen.fillRect(to * width - 1, 0, 1, height);
  }
};

let grabbed;
const place = (event) => {
  const { left, width } = overview.getBoundingClientRect();
  return Math.min(Math.max((event.clientX - left) / width, 0), 1);
};
overview.onpointerdown = (event) => { grabbed = place(event); overview.setPointerCapture(event.pointerId); };
overview.onpointermove = (event) => {
  if (grabbed !== undefined) paint([grabbed, place(event)].sort((a, b) => a - b));
};
overview.onpointerup = (event) => {
  const until = place(event), from = grabbed;
  grabbed = undefined;
  if (from === undefined) return;
  if (Math.abs(until - from) < 0.004) zoom(0, 1); else zoom(from, until);
};
