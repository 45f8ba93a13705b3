"""Reports, opened in Chromium and used as a reader would.

    python3 tests/report/check.py target/debug/examples/report target/reports

The program given draws the reports: of its own run, and of logs made here. They are opened from disk in a
browser that finds no host, and pictures of them are left in the folder given.
"""

import re
import signal
import subprocess
import sys
from pathlib import Path

import logs
from chromium import Page

# As the page counts them: of many rows, those far below are not on it yet.
ROWS = "Number(document.getElementById('count').textContent.match(/([0-9,]+) rows/)[1].replaceAll(',', ''))"
SHOWN = "document.querySelectorAll('.row').length"
FOUND = "document.querySelectorAll('.row:not(.is-around)').length"
OPENED = "document.querySelectorAll('.detail').length"
OPEN_ALL = "document.querySelectorAll('.name[aria-expanded=false]').forEach((name) => name.click())"
LOADED = "performance.getEntriesByType('resource').length"

# How well each text that is on the page stands out against what is behind it, as WCAG counts; the least.
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


def holds(what, told):
    global passed
    if not what:
        raise SystemExit(f"FAILED: {told}")
    passed += 1


def is_quiet(page, name):
    holds(page.value(LOADED) == 0, f"{name} loads something")
    holds(page.seen == [], f"{name} is not quiet: {page.seen}")


def contrast(page, name):
    for scheme in ["light", "dark"]:
        page.dressed(scheme)
        ratio, where = page.value(CONTRAST)
        holds(ratio >= 4.5, f"{name}, {scheme}: a contrast of {ratio:.2f} at {where!r}")
    page.dressed("light")


def of_a_run(page, path, pictures):
    page.sized(1400, 900)
    page.dressed("light")
    page.open(path)
    rows = page.value(ROWS)
    names = page.value("[...document.querySelectorAll('.name b')].map((name) => name.textContent)")
    for name in ["run", "model", "forecast", "trains", "rooms", "price", "forcast", "book"]:
        holds(name in names, f"no row is called {name}: {names}")
    depth = page.value("Math.max(...[...document.querySelectorAll('.row')].map((row) => +row.style.getPropertyValue('--depth')))")
    holds(depth == 2, f"calls within calls stand {depth} deep")
    light = page.picture(pictures / "light.png")
    contrast(page, "the run")
    page.dressed("dark")
    dark = page.picture(pictures / "dark.png")
    holds(light != dark, "light and dark look the same")
    page.value("document.getElementById('theme').click()")
    holds(page.value("getComputedStyle(document.documentElement).colorScheme") == "light", "the switch switches")
    page.value("localStorage.clear()")
    page.dressed("light")

    # The search, by typing and by address.
    page.open(path)
    page.key("/")
    page.type("bergen")
    found = page.value(FOUND)
    holds(0 < found < rows, f"{found} of {rows} rows fit")
    holds(page.value("location.hash") == "#q=bergen", "what is looked for stands in the address")
    page.open(path, "#q=bergen")
    holds(page.value(FOUND) == found, "an address is looked up")
    page.key("/")
    page.key("Escape", 27)
    holds(page.value(FOUND) == rows, "Escape ends the search")
    holds("is:retried" in page.value("document.getElementById('tools').innerText"), "what a row may be is listed by the search")
    for word, expected in [("is:failed", 2), ("is:retried", 1), ("is:repaired", 1), ("is:model", 3), ("zzz", 0)]:
        page.open(path, f"#q={word}")
        holds(page.value(FOUND) == expected, f"{page.value(FOUND)} rows are {word}")
    holds("No row fits" in page.value("document.body.innerText"), "it says that none fits")

    # By keys alone: down to a call, its details, fold and unfold.
    page.open(path)
    page.key("/")
    page.key("ArrowDown", 40)
    page.key("ArrowDown", 40)
    page.key("Enter", 13)
    holds(page.value(OPENED) == 1, "Enter opens a row")
    holds("I look at the weather" in page.value("document.querySelector('.detail').innerText"), "the first reply")
    page.key("ArrowUp", 38)
    page.key("ArrowLeft", 37)
    holds(page.value(SHOWN) == 1, "Left folds")
    page.key("ArrowRight", 39)
    holds(page.value(SHOWN) == rows, "Right unfolds")
    page.key("ArrowDown", 40)
    page.key("z")
    holds(0 < page.value(SHOWN) < rows, "z shows a part of the time")
    page.picture(pictures / "zoomed.png")
    page.key("0")
    holds(page.value(SHOWN) == rows, "0 shows all of it")

    page.value(OPEN_ALL)
    told = page.value("document.body.innerText")
    for text in [
        "Arguments, as the model wrote them", "removed a code fence around the value", "lossless",
        "attempt 1 failed with TOOL_TRANSIENT_FAILURE", "the weather station did not answer",
        "Plan my trip from Oslo to Bergen.", "from a mail: Nothing before eight.", "Cost", "Error, as the model reads it", "Grand in Bergen has no rooms left",
        "https://rail.example/seats", "3 of 4: asked 3 railways", "TOOL_NOT_FOUND",
    ]:
        holds(text in told, f"the details don't tell {text!r}")
    contrast(page, "the details")
    page.open(path, "#q=you%20plan%20trips")
    holds(page.value(FOUND) == 1, "orders that are folded are found")
    page.open(path, "#row=0")
    page.picture(pictures / "asked.png")
    page.open(path, "#row=4")
    page.picture(pictures / "details.png")
    page.sized(420, 900)
    page.picture(pictures / "narrow.png")
    holds(page.value("document.documentElement.scrollWidth <= innerWidth"), "a narrow page needs no scrolling sideways")
    page.sized(1400, 900)
    (pictures / "printed.pdf").write_bytes(page.printed())
    is_quiet(page, "the run")


def of_hostile_texts(page, path, pictures):
    page.open(path)
    page.picture(pictures / "hostile.png")
    elements = "[...new Set([...document.querySelectorAll('*')].map((e) => e.localName))].sort().join(' ')"
    page.value(OPEN_ALL)
    page.value("document.querySelectorAll('.more').forEach((more) => more.click())")
    page.value("new Promise((done) => setTimeout(done, 200))")
    foreign = set(page.value(elements).split()) & {"img", "svg", "iframe", "a", "link", "base", "object", "form", "embed"}
    holds(not foreign, f"there are elements that nobody made: {foreign}")
    holds(page.value("document.scripts.length") == 2, "there are more scripts")
    holds(page.value("document.querySelectorAll('style').length") == 1, "there are more styles")
    holds(page.value("document.querySelectorAll('meta').length") == 4, "there are more metas")
    handlers = "[...document.querySelectorAll('*')].flatMap((e) => [...e.attributes]).filter((a) => a.name.startsWith('on')).length"
    holds(page.value(handlers) == 0, "an element has a handler of its own")
    # What can't be seen or turns others round is shown by its number, and is nowhere as it is.
    told = page.value("document.body.innerText")
    for number in ["2028", "2029", "0000", "0007", "001B", "202E", "2066", "200B", "FEFF"]:
        holds(f"U+{number}" in told, f"U+{number} is not shown")
    raw = page.value("[...document.body.innerText].filter((c) => /[\\0\\x07\\x1b\\u2028\\u2029\\u202a-\\u202e\\u2066-\\u2069\\ufeff]/.test(c)).length")
    holds(raw == 0, f"{raw} letters are on the page as they are")
    for text in logs.HOSTILE:
        plain = re.split("[^ -~]", text)[0]
        holds(plain in told, f"{plain!r} is not there to be read")
    contrast(page, "hostile texts")
    is_quiet(page, "a report of hostile texts")
    # Even markup that got in would be held back by the page's policy.
    page.value("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=alert(9)><img src=https://example.invalid/i>')")
    page.value("new Promise((done) => setTimeout(done, 200))")
    seen, page.seen = page.seen, []
    held_back = [told for told in seen if "Content Security Policy" in told]
    holds(len(held_back) == 3, f"the policy holds back a handler and two pictures: {seen}")
    holds(not any(told.startswith("a dialog") for told in seen), f"what got in ran: {seen}")


def of_a_killed_run(page, path, pictures):
    page.open(path)
    told = page.value("document.getElementById('top').innerText")
    for text in ["1 answered", "1 without an end", "Cost\nunknown", "2 lines of the log could not be read", "far apart"]:
        holds(text in told, f"the head doesn't tell {text!r}: {told}")
    holds(page.value("document.querySelectorAll('#run option').length") == 3, "one of the runs can be chosen")
    page.value("(() => { const run = document.getElementById('run'); run.value = run.options[2].value; run.onchange(); })()")
    names = page.value("[...document.querySelectorAll('.row')].map((row) => row.style.getPropertyValue('--depth') + row.querySelector('b').textContent)")
    holds(names == ["0run", "1model", "1researcher", "2agent", "3model", "3look_up"], f"a sub-agent lies below its call: {names}")
    holds(page.value("document.querySelectorAll('.row.open').length") == 4, "what has no end has none")
    page.picture(pictures / "killed.png")
    is_quiet(page, "a killed run")


def of_a_run_that_waits(page, path, pictures):
    page.sized(1400, 900)
    page.open(path)
    told = page.value("document.getElementById('top').innerText")
    for text in ["1 answered", "1 waiting for a decision", "0.0093"]:
        holds(text in told, f"the head doesn't tell {text!r}: {told}")
    holds("stopped" not in told, f"to wait is no failure: {told}")
    holds(page.value("document.querySelectorAll('.row.failed').length") == 0, "nothing has failed")
    options = page.value("[...document.querySelectorAll('#run option')].map((option) => option.textContent)")
    holds(len(options) == 3 and "✓" in options[1] and "…" in options[2], f"a run is one, however often it goes on: {options}")
    page.value("(() => { const run = document.getElementById('run'); run.value = run.options[1].value; run.onchange(); })()")
    status = page.value("[...document.querySelectorAll('.row .status')].map((status) => status.textContent)")
    holds(status == ["… waited for a decision", "✓", "… waited for a decision", "✓", "✓", "✓"], f"both parts are there: {status}")
    page.value("(() => { const run = document.getElementById('run'); run.value = ''; run.onchange(); })()")
    page.open(path, "#q=tell%20her")
    holds(page.value(FOUND) == 1, "what was said meanwhile is found")
    page.open(path, "#q=barbara")
    holds(page.value(FOUND) == 1, "what was asked is found")
    page.open(path)
    page.value(OPEN_ALL)
    told = page.value("document.body.innerText")
    for text in ["Pay Ada what Grace says.", "What it was asked", "What it waits for", "said by steering"]:
        holds(text in told, f"the details don't tell {text!r}")
    page.open(path, "#row=0")
    page.picture(pictures / "waiting.png")
    contrast(page, "a run that waits")
    page.dressed("dark")
    page.picture(pictures / "waiting_dark.png")
    page.dressed("light")
    is_quiet(page, "a run that waits")


def of_many_calls(page, path, calls, pictures):
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
    is_quiet(page, f"{calls} calls")
    return drawn, search


def main(program, folder):
    pictures = Path(folder)
    pictures.mkdir(parents=True, exist_ok=True)

    def drawn(name, events=None, rest=""):
        path, args = pictures / f"{name}.html", []
        if events is not None:
            args = [pictures / f"{name}.jsonl"]
            logs.write(args[0], events, rest)
        told = subprocess.run([program, path, *args], check=True, capture_output=True, text=True).stdout
        return path, told.strip().splitlines()[-1].rsplit(" ", 1)[-1]

    # A browser that says nothing more fails, too.
    signal.alarm(600)
    page = Page()
    try:
        of_a_run(page, drawn("run")[0], pictures)
        of_hostile_texts(page, drawn("hostile", logs.hostile())[0], pictures)
        of_a_killed_run(page, drawn("killed", logs.killed(), '{"run": "3", "tu')[0], pictures)
        of_a_run_that_waits(page, drawn("waiting", logs.waiting())[0], pictures)
        print(f"{'calls':>6} {'written in':>12} {'KiB':>7} {'on screen':>10} {'search':>8}")
        for calls in [10, 1_000, 10_000]:
            path, written = drawn(f"calls_{calls}", logs.many(calls))
            shown, search = of_many_calls(page, path, calls, pictures)
            size = path.stat().st_size / 1024
            print(f"{calls:>6} {written:>12} {size:>7.0f} {shown:>7.0f} ms {search:>5.0f} ms")
    finally:
        page.close()
    print(f"chromium: {passed} passed, 0 failed")


if __name__ == "__main__":
    main(*sys.argv[1:])
