"""Checks HTML reports in Chromium, as a reader would use them.

    python3 tests/report/check.py target/debug/examples/report target/reports

The given program renders the reports: of its own run, and of logs generated here. The browser opens them
from disk without network access. Screenshots are written to the given folder.
"""

import re
import signal
import subprocess
import sys
from pathlib import Path

import logs
from chromium import Page

# The page's own count: of many rows, those far below are not in the document yet.
ROWS = "Number(document.getElementById('count').textContent.match(/([0-9,]+) rows/)[1].replaceAll(',', ''))"
SHOWN = "document.querySelectorAll('.row').length"
FOUND = "document.querySelectorAll('.row:not(.is-around)').length"
OPENED = "document.querySelectorAll('.detail').length"
OPEN_ALL = "document.querySelectorAll('.name[aria-expanded=false]').forEach((name) => name.click())"
LOADED = "performance.getEntriesByType('resource').length"

# Returns the least contrast ratio of any text on the page, as defined by WCAG.
CONTRAST = """(() => {
  const pen = Object.assign(document.createElement('canvas'), {width: 1, height: 1}).getContext('2d', {willReadFrequently: true});
  const light = (colour) => {
    pen.clearRect(0, 0, 1, 1); pen.fillStyle = colour; pen.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = pen.getImageData(0, 0, 1, 1).data;
    if (!a) return null;
    const one = (c) => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    return 0.2126 * one(r) + 0.7152 * one(g) + 0.0722 * one(b);
  };
  let least = [99, ''];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const element = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim() || !element.checkVisibility() || element.closest('script, noscript')) continue;
    let behind = element, ground = null;
    while (behind && ground === null) {
      ground = light(getComputedStyle(behind).backgroundColor);
      behind = behind.parentElement;
    }
    const [a, b] = [light(getComputedStyle(element).color), ground].sort((a, b) => b - a);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < least[0]) least = [ratio, element.className + ': ' + walk.currentNode.data.slice(0, 30)];
  }
  return least;
})()"""

passed = 0


def holds(condition, message):
    global passed
    if not condition:
        raise SystemExit(f"FAILED: {message}")
    passed += 1


def has_no_side_effects(page, name):
    holds(page.value(LOADED) == 0, f"{name} loads resources")
    holds(page.seen == [], f"{name} has side effects: {page.seen}")


def contrast(page, name):
    for scheme in ["light", "dark"]:
        page.dressed(scheme)
        ratio, where = page.value(CONTRAST)
        holds(ratio >= 4.5, f"{name}, {scheme}: a contrast of {ratio:.2f} at {where!r}")
    page.dressed("light")


def check_run(page, path, pictures):
    page.sized(1400, 900)
    page.dressed("light")
    page.open(path)
    rows = page.value(ROWS)
    names = page.value("[...document.querySelectorAll('.name b')].map((name) => name.textContent)")
    for name in ["run", "model", "forecast", "trains", "rooms", "price", "forcast", "book"]:
        holds(name in names, f"no row is called {name}: {names}")
    depth = page.value("Math.max(...[...document.querySelectorAll('.row')].map((row) => +row.style.getPropertyValue('--depth')))")
    holds(depth == 2, f"nested calls have depth {depth}")
    light = page.picture(pictures / "light.png")
    contrast(page, "the run")
    page.dressed("dark")
    dark = page.picture(pictures / "dark.png")
    holds(light != dark, "light and dark look the same")
    page.value("document.getElementById('theme').click()")
    holds(page.value("getComputedStyle(document.documentElement).colorScheme") == "light", "the theme button has no effect")
    page.value("localStorage.clear()")
    page.dressed("light")

    # Search by typing and by URL.
    page.open(path)
    page.key("/")
    page.type("bergen")
    found = page.value(FOUND)
    holds(0 < found < rows, f"{found} of {rows} rows match")
    holds(page.value("location.hash") == "#q=bergen", "the URL does not hold the search")
    page.open(path, "#q=bergen")
    holds(page.value(FOUND) == found, "the search of the URL is not applied")
    page.key("/")
    page.key("Escape", 27)
    holds(page.value(FOUND) == rows, "Escape does not end the search")
    holds("is:retried" in page.value("document.getElementById('tools').innerText"), "the search does not list the row states")
    for word, expected in [("is:failed", 2), ("is:retried", 1), ("is:repaired", 1), ("is:model", 3), ("zzz", 0)]:
        page.open(path, f"#q={word}")
        holds(page.value(FOUND) == expected, f"{page.value(FOUND)} rows match {word}")
    holds("No matching rows" in page.value("document.body.innerText"), "no message for an empty result")

    # Navigation with the keyboard: select a call, open its details, collapse and expand.
    page.open(path)
    page.key("/")
    page.key("ArrowDown", 40)
    page.key("ArrowDown", 40)
    page.key("Enter", 13)
    holds(page.value(OPENED) == 1, "Enter does not open a row")
    holds("I look at the weather" in page.value("document.querySelector('.detail').innerText"), "the details do not show the first reply")
    page.key("ArrowUp", 38)
    page.key("ArrowLeft", 37)
    holds(page.value(SHOWN) == 1, "Left does not collapse")
    page.key("ArrowRight", 39)
    holds(page.value(SHOWN) == rows, "Right does not expand")
    page.key("ArrowDown", 40)
    page.key("z")
    holds(0 < page.value(SHOWN) < rows, "z does not zoom")
    page.picture(pictures / "zoomed.png")
    page.key("0")
    holds(page.value(SHOWN) == rows, "0 does not reset the zoom")

    page.value(OPEN_ALL)
    body = page.value("document.body.innerText")
    for text in [
        "Arguments, as the model wrote them", "removed a code fence around the value", "lossless",
        "attempt 1 failed with TOOL_TRANSIENT_FAILURE", "the weather station did not answer",
        "Plan my trip from Oslo to Bergen.", "from a mail: Nothing before eight.", "Cost", "Error, as the model reads it", "Grand in Bergen has no rooms left",
        "https://rail.example/seats", "3 of 4: asked 3 railways", "TOOL_NOT_FOUND",
    ]:
        holds(text in body, f"the details do not show {text!r}")
    contrast(page, "the details")
    page.open(path, "#q=you%20plan%20trips")
    holds(page.value(FOUND) == 1, "collapsed system messages are not found")
    page.open(path, "#row=0")
    page.picture(pictures / "asked.png")
    page.open(path, "#row=4")
    page.picture(pictures / "details.png")
    page.sized(420, 900)
    page.picture(pictures / "narrow.png")
    holds(page.value("document.documentElement.scrollWidth <= innerWidth"), "a narrow page scrolls sideways")
    page.sized(1400, 900)
    (pictures / "printed.pdf").write_bytes(page.printed())
    has_no_side_effects(page, "the run")


def check_hostile_texts(page, path, pictures):
    page.open(path)
    page.picture(pictures / "hostile.png")
    elements = "[...new Set([...document.querySelectorAll('*')].map((e) => e.localName))].sort().join(' ')"
    page.value(OPEN_ALL)
    page.value("document.querySelectorAll('.more').forEach((more) => more.click())")
    page.value("new Promise((done) => setTimeout(done, 200))")
    foreign = set(page.value(elements).split()) & {"img", "svg", "iframe", "a", "link", "base", "object", "form", "embed"}
    holds(not foreign, f"injected elements: {foreign}")
    holds(page.value("document.scripts.length") == 2, "additional scripts")
    holds(page.value("document.querySelectorAll('style').length") == 1, "additional styles")
    holds(page.value("document.querySelectorAll('meta').length") == 4, "additional meta elements")
    handlers = "[...document.querySelectorAll('*')].flatMap((e) => [...e.attributes]).filter((a) => a.name.startsWith('on')).length"
    holds(page.value(handlers) == 0, "an element has an event handler")
    # Invisible and bidirectional characters are shown by their code point and never raw.
    body = page.value("document.body.innerText")
    for number in ["2028", "2029", "0000", "0007", "001B", "202E", "2066", "200B", "FEFF"]:
        holds(f"U+{number}" in body, f"U+{number} is not shown")
    raw = page.value("[...document.body.innerText].filter((c) => /[\\0\\x07\\x1b\\u2028\\u2029\\u202a-\\u202e\\u2066-\\u2069\\ufeff]/.test(c)).length")
    holds(raw == 0, f"{raw} characters are on the page unescaped")
    for text in logs.HOSTILE:
        plain = re.split("[^ -~]", text)[0]
        holds(plain in body, f"{plain!r} is not visible")
    contrast(page, "hostile texts")
    has_no_side_effects(page, "a report of hostile texts")
    # The content security policy blocks injected markup.
    page.value("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=alert(9)><img src=https://example.invalid/i>')")
    page.value("new Promise((done) => setTimeout(done, 200))")
    seen, page.seen = page.seen, []
    blocked = [entry for entry in seen if "Content Security Policy" in entry]
    holds(len(blocked) == 3, f"the policy must block a handler and two images: {seen}")
    holds(not any(entry.startswith("a dialog") for entry in seen), f"injected markup ran: {seen}")


def check_killed_run(page, path, pictures):
    page.open(path)
    header = page.value("document.getElementById('top').innerText")
    for text in ["1 answered", "1 unfinished", "Cost\nunknown", "2 lines of the log could not be read", "far apart"]:
        holds(text in header, f"the header does not show {text!r}: {header}")
    holds(page.value("document.querySelectorAll('#run option').length") == 3, "the runs cannot be selected")
    page.value("(() => { const run = document.getElementById('run'); run.value = run.options[2].value; run.onchange(); })()")
    names = page.value("[...document.querySelectorAll('.row')].map((row) => row.style.getPropertyValue('--depth') + row.querySelector('b').textContent)")
    holds(names == ["0run", "1model", "1researcher", "2agent", "3model", "3look_up"], f"the sub-agent is not nested below its call: {names}")
    holds(page.value("document.querySelectorAll('.row.open').length") == 4, "unfinished rows are not open")
    page.picture(pictures / "killed.png")
    has_no_side_effects(page, "a killed run")


def check_pending_run(page, path, pictures):
    page.sized(1400, 900)
    page.open(path)
    header = page.value("document.getElementById('top').innerText")
    for text in ["1 answered", "1 awaiting approval", "0.0093"]:
        holds(text in header, f"the header does not show {text!r}: {header}")
    holds("stopped" not in header, f"a pending run counts as stopped: {header}")
    holds(page.value("document.querySelectorAll('.row.failed').length") == 0, "rows are marked as failed")
    options = page.value("[...document.querySelectorAll('#run option')].map((option) => option.textContent)")
    holds(len(options) == 3 and "✓" in options[1] and "…" in options[2], f"a resumed run is listed more than once: {options}")
    page.value("(() => { const run = document.getElementById('run'); run.value = run.options[1].value; run.onchange(); })()")
    status = page.value("[...document.querySelectorAll('.row .status')].map((status) => status.textContent)")
    holds(status == ["… awaited approval", "✓", "… awaited approval", "✓", "✓", "✓"], f"the parts of the resumed run are not complete: {status}")
    page.value("(() => { const run = document.getElementById('run'); run.value = ''; run.onchange(); })()")
    page.open(path, "#q=tell%20her")
    holds(page.value(FOUND) == 1, "the steering message is not found")
    page.open(path, "#q=barbara")
    holds(page.value(FOUND) == 1, "the prompt is not found")
    page.open(path)
    page.value(OPEN_ALL)
    body = page.value("document.body.innerText")
    for text in ["Pay Ada what Grace says.", "Prompt", "Waiting for", "steering message"]:
        holds(text in body, f"the details do not show {text!r}")
    page.open(path, "#row=0")
    page.picture(pictures / "waiting.png")
    contrast(page, "a run that waits")
    page.dressed("dark")
    page.picture(pictures / "waiting_dark.png")
    page.dressed("light")
    has_no_side_effects(page, "a run that waits")


def check_diffs(page, path, pictures):
    page.sized(1400, 900)
    page.open(path)
    diffs = """[...document.querySelectorAll('.detail h2')].filter((title) => title.textContent.startsWith('Diff'))
        .map((title) => title.nextElementSibling.innerText)"""
    holds(page.value(diffs) == [], "a diff is shown before its row is opened")
    rows = "[...document.querySelectorAll('.row')].filter((row) => row.querySelector('b').textContent == 'file_edit')"
    for row, paths in enumerate([["src/total.rs"], ["src/total.rs", "src/lib.rs"]]):
        page.value(f"{rows}[{row}].querySelector('.name').click()")
        shown = [diff.splitlines() for diff in page.value(diffs)]
        expected = [logs.DIFF.replace("src/total.rs", path).splitlines() for path in paths]
        holds(shown == expected, f"the diffs are not shown line by line: {shown}")
        page.picture(pictures / f"diff_{row}.png")
        page.value(f"{rows}[{row}].querySelector('.name').click()")
    holds(page.value(diffs) == [], "a closed row shows its diff")
    page.open(path, "#q=items.iter")
    holds(page.value(FOUND) == 2, f"{page.value(FOUND)} rows match a line of the diffs")
    page.value(OPEN_ALL)
    contrast(page, "diffs")
    has_no_side_effects(page, "a report of diffs")


def check_huge_outputs(page, path, outputs, pictures):
    holds(path.stat().st_size < 200 << 20, f"the report has {path.stat().st_size} bytes")
    page.open(path)
    rows = page.value(ROWS)
    holds(rows > outputs, f"{rows} rows for {outputs} outputs")
    header = page.value("document.getElementById('top').innerText")
    holds("bytes of long texts were left out" in header, f"the header does not say what was left out: {header}")
    page.value(OPEN_ALL)
    page.value("document.querySelectorAll('.more').forEach((more) => more.click())")
    body = page.value("document.body.innerText")
    for text in ["start of 0 <b>", "the middle of this text is left out", f"end of {outputs - 1}"]:
        holds(text in body, f"the details do not show {text!r}")
    page.picture(pictures / "huge.png")
    has_no_side_effects(page, "a report of huge outputs")


def measure_many_calls(page, path, calls, pictures):
    page.open(path)
    rows = page.value(ROWS)
    holds(rows > calls, f"{rows} rows for {calls} calls")
    drawn = page.value("performance.timing.loadEventEnd - performance.timing.responseEnd")
    page.picture(pictures / f"calls_{calls}.png")
    search = page.value("""(async () => {
        const search = document.getElementById('search'), once = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
        const times = [];
        for (const words of ['forecast', 'said of 7', 'is:failed', '']) {
            const from = performance.now();
            search.value = words; search.oninput(); await once();
            times.push(performance.now() - from);
        }
        return Math.max(...times);
    })()""")
    has_no_side_effects(page, f"{calls} calls")
    return drawn, search


def main(program, folder):
    pictures = Path(folder)
    pictures.mkdir(parents=True, exist_ok=True)

    def drawn(name, events=None, rest=""):
        path, args = pictures / f"{name}.html", []
        if events is not None:
            args = [pictures / f"{name}.jsonl"]
            logs.write(args[0], events, rest)
        output = subprocess.run([program, path, *args], check=True, capture_output=True, text=True).stdout
        return path, output.strip().splitlines()[-1].rsplit(" ", 1)[-1]

    # The alarm ends the script if the browser hangs.
    signal.alarm(600)
    page = Page()
    try:
        check_run(page, drawn("run")[0], pictures)
        check_hostile_texts(page, drawn("hostile", logs.hostile())[0], pictures)
        check_killed_run(page, drawn("killed", logs.killed(), '{"run": "3", "tu')[0], pictures)
        check_pending_run(page, drawn("waiting", logs.waiting())[0], pictures)
        check_diffs(page, drawn("edited", logs.edited())[0], pictures)
        path, _ = drawn("huge", logs.huge(10, 50_000_000))
        (pictures / "huge.jsonl").unlink()
        check_huge_outputs(page, path, 10, pictures)
        print(f"{'calls':>6} {'written in':>12} {'KiB':>7} {'on screen':>10} {'search':>8}")
        for calls in [10, 1_000, 10_000]:
            path, written = drawn(f"calls_{calls}", logs.many(calls))
            shown, search = measure_many_calls(page, path, calls, pictures)
            size = path.stat().st_size / 1024
            print(f"{calls:>6} {written:>12} {size:>7.0f} {shown:>7.0f} ms {search:>5.0f} ms")
    finally:
        page.close()
    print(f"chromium: {passed} passed, 0 failed")


if __name__ == "__main__":
    main(*sys.argv[1:])
