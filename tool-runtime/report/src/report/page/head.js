// Totals and the choice of a run.

const heading = () => {
  const outcome = [
    [totals.answered, "✓", "answered"], [totals.stopped, "✗", "stopped"],
    [totals.paused, "…", "awaiting approval"], [totals.open, "◌", "unfinished"],
  ].filter(([number]) => number);
  const words = outcome.map(([number, sign, word]) => `${sign} ${totals.runs > 1 ? count(number) + " " : ""}${word}`);
  const only = totals.runs === 1 && rows.findLast((row) => row.kind === "run" && row.parent === undefined);
  find("outcome").append(words.join(" · "), ...shown(only?.summary ? ": " + only.summary : ""));

  const total = (name, value, word, look) => {
    const item = make(word ? "button" : "div", "", make("dt", "", name), make("dd", look ?? "", value));
    if (word) {
      item.type = "button";
      item.dataset.word = word;
      item.onclick = () => {
        const words = search.value.split(/\s+/).filter((other) => other && !other.startsWith("is:"));
        if (item.getAttribute("aria-pressed") !== "true") words.unshift(word);
        search.value = words.join(" ");
        filter();
        remember();
      };
    }
    find("totals").append(item);
  };
  total(data.has_separate_starts ? "Longest run" : "Time", time(data.length));
  if (totals.runs > 1) total("Runs", count(totals.runs), "is:run");
  total("Model replies", count(totals.model), "is:model");
  total("Tool calls", count(totals.tool), "is:tool");
  if (totals.at_once > 1) total("Max. concurrent", count(totals.at_once));
  total("Failed", count(totals.failed), "is:failed", totals.failed ? "bad" : "");
  if (totals.blocked) total("Blocked", count(totals.blocked), "is:blocked", "held");
  if (totals.waiting) total("Waiting", count(totals.waiting), "is:waiting", "held");
  if (totals.retried) total("Retried", count(totals.retried), "is:retried");
  if (totals.repaired) total("Repaired", count(totals.repaired), "is:repaired");
  if (totals.is_counted) {
    total("Tokens in", count(totals.usage.input_tokens));
    total("Tokens out", count(totals.usage.output_tokens));
  }
  if (totals.cost) total("Cost", totals.cost);
  const warnings = [
    totals.dropped && `${count(totals.dropped)} events were dropped before they reached this report.`,
    totals.unreadable && `${count(totals.unreadable)} lines of the log could not be read.`,
    totals.left_out && `${count(totals.left_out)} bytes of long texts were left out, which the log has.`,
    totals.left_out_rows && `The last ${count(totals.left_out_rows)} rows were left out, which the log has.`,
    data.has_separate_starts && "The runs are far apart in time: each run, and each part of a resumed run, starts at 0.",
  ].filter(Boolean);
  find("warning").textContent = warnings.join(" ");
  find("warning").hidden = !warnings.length;

  // A run has one option, with its last state, however often it was resumed.
  const runs = Map.groupBy(rows.filter((row) => row.parent === undefined), (row) => row.root);
  if (runs.size > 1) {
    const choice = find("run");
    choice.hidden = false;
    choice.append(new Option(`All ${count(runs.size)} runs`, ""));
    [...runs].forEach(([root, parts], place) => {
      const duration = parts.reduce((sum, row) => sum + row.end - row.start, 0);
      choice.append(new Option(`${place + 1}  ${status(parts.at(-1)).slice(0, 60)}  ${time(duration)}`, root));
    });
    choice.onchange = () => {
      view.root = choice.value === "" ? undefined : Number(choice.value);
      if (view.root === undefined) return zoom(0, 1);
      const parts = runs.get(view.root);
      zoomTo({ start: Math.min(...parts.map((row) => row.start)), end: Math.max(...parts.map((row) => row.end)) });
    };
  }
};
