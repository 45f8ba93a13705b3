"""Generates event logs for reports: many calls, and hostile texts."""

import json

START = 1_767_225_600_000_000  # 2026-01-01, in microseconds

HOSTILE = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(2)>",
    "<!-- <script>",
    "--> ]]> <![CDATA[",
    "\" onmouseover=\"alert(3)\" x='",
    "<svg onload=alert(4)><style>*{display:none}</style>",
    "<iframe srcdoc='<script>parent.alert(5)</script>'></iframe>",
    "<a href=javascript:alert(6)>here</a> &lt;b&gt; &#60;i&#62;",
    "line\u2028paragraph\u2029nul\u0000bell\u0007escape\u001b[31m",
    "invoice\u202egnp.exe \u2066isolated\u2069 zero\u200bwidth \ufeff",
    '{"lone": "\\ud800", "pair": "\\ud83d\\ude42"}',
    "__proto__ constructor {{7*7}} ${alert(8)} `",
    "<meta http-equiv=refresh content='0;url=https://example.invalid/'>",
    "<link rel=stylesheet href=https://example.invalid/a.css>",
]


def line(run, turn, at, event, **more):
    return {"run": f"{run:032x}", "turn": turn, "at": START + at, "event": event, **more}


def ended(call, at, duration, text, **more):
    result = {"call": call["id"], "tool": call["name"], "text": text}
    if "error" in more:
        result["error"] = more.pop("error")
    execution = {"call": call, "result": result, "attempts": 1, "started_at": START + at - duration, "duration_us": duration}
    return execution | more


def hostile():
    """Returns events in which every text is hostile."""
    yield line(1, 0, 0, "run.started", agent=HOSTILE[0])
    for place, text in enumerate(HOSTILE):
        at = place * 10_000
        yield line(1, 0, at, "run.message_added", source="system", text=text)
        yield line(1, 0, at, "run.message_added", source="user", text=text)
        yield line(1, 0, at, "run.message_added", source="untrusted", source_name=text, text=text)
        call = {"id": f"{text}{place}", "name": text, "arguments": text}
        yield line(1, place + 1, at, "model.requested")
        yield line(1, place + 1, at + 900, "model.replied", text=text, reasoning=text, calls=[call], duration_us=900)
        yield line(1, place + 1, at + 900, "model.validation_failed", text=text, reason=text, attempt=1)
        yield line(1, place + 1, at + 1_000, "tool.started", call=call)
        progress = {"done": 1.0, "message": text}
        yield line(1, place + 1, at + 2_000, "tool.progress", call=call["id"], progress=progress)
        yield line(1, place + 1, at + 3_000, "tool.retried", call=call["id"], attempt=1, error=text, text=text, delay_us=10)
        effects = [{"kind": "file_changed", "path": text, "op": {"rename": {"to": text}}}, {"kind": "other", "name": text, "data": {text: text}}]
        fix = {"kind": "prose", "span": {"start": 0, "end": 3}, "level": "wrapping", "risk": "inferred"}
        execution = ended(
            call, at + 9_000, 8_000, text, error=text, cause=text, decoded_arguments=json.dumps({text: text}), attempts=2,
            decided_by=text, effects=effects, full_text=text * 200, fixes=[fix],
            modified_call={"id": call["id"], "name": text + "!", "arguments": text},
        )
        yield line(1, place + 1, at + 9_000, "tool.finished", **execution)
    yield line(1, len(HOSTILE), len(HOSTILE) * 10_000, "run.finished", code=HOSTILE[1], error="".join(HOSTILE), duration_us=1)


def many(calls):
    """Returns turns of ten parallel calls. Some fail, some are repaired, some are retried."""
    yield line(2, 0, 0, "run.started")
    at, made, turn = 100, 0, 0
    while made < calls:
        turn += 1
        yield line(2, turn, at, "model.requested")
        names = ["search_documents", "read_file", "forecast", "compare_prices", "send_mail"]
        batch = [
            {
                "id": f"call_{made + n}",
                "name": names[(made + n) % 5],
                "arguments": json.dumps({"query": f"what is said of {made + n}", "limit": n, "exact": n % 2 == 0}),
            }
            for n in range(min(10, calls - made))
        ]
        at += 42_000 + made % 7 * 3_000
        usage = {"input_tokens": 900 + 40 * turn, "cache_read_tokens": 700,
                 "output_tokens": 80, "reasoning_tokens": 12}
        yield line(2, turn, at, "model.replied", text=f"Part {turn}.", calls=batch, usage=usage, duration_us=42_000)
        ends = []
        for n, call in enumerate(batch):
            yield line(2, turn, at, "tool.started", call=call)
            duration = 3_000 + (made + n) * 7_919 % 60_000
            more = {}
            if (made + n) % 17 == 3:
                more = {"error": "TOOL_TIMEOUT", "cause": "the connection was reset by its peer"}
            elif (made + n) % 11 == 5:
                more = {"fixes": [{"kind": "fence", "span": {"start": 0, "end": 7}}], "decoded_arguments": '{"query":"a"}'}
            elif (made + n) % 23 == 7:
                more = {"attempts": 3}
            ends.append((at + duration, line(2, turn, at + duration, "tool.finished", **ended(call, at + duration, duration, f"Found {n} things.", **more))))
        ends.sort(key=lambda end: end[0])
        yield from (event for _, event in ends)
        at, made = ends[-1][0] + 500, made + len(batch)
    yield line(2, turn, at, "run.finished", duration_us=at)


def huge(outputs, size):
    """Returns calls whose outputs have so many bytes."""
    yield line(3, 0, 0, "run.started")
    for n in range(outputs):
        call = {"id": f"call_{n}", "name": "dump", "arguments": "{}"}
        text = f"start of {n} <b>" + "<&>x" * (size // 4) + f"end of {n}"
        at = 1_000 * (n + 1)
        yield line(3, 1, at, "tool.started", call=call)
        yield line(3, 1, at + 900, "tool.finished", **ended(call, at + 900, 900, text))
    yield line(3, 1, 1_000_000, "run.finished", duration_us=1_000_000)


def killed():
    """Returns two runs an hour apart. The second was killed during the call of a sub-agent."""
    for event in many(12):
        yield event
    later = 3_600_000_000
    call = {"id": "c1", "name": "researcher", "arguments": '{"topic": "fjords"}'}
    inner = {"parent": "c1", "depth": 1}
    yield line(3, 0, later, "run.started")
    yield line(3, 1, later + 100, "model.requested")
    yield line(3, 1, later + 40_000, "model.replied", text="", calls=[call], duration_us=39_900)
    yield line(3, 1, later + 40_100, "tool.started", call=call)
    yield line(4, 0, later + 40_200, "run.started", **inner)
    yield line(4, 1, later + 40_300, "model.requested", **inner)
    yield line(4, 1, later + 90_000, "model.replied", text="I look.", calls=[], duration_us=49_700, **inner)
    look = {"id": "c1", "name": "look_up", "arguments": '{"word": "fjord"}'}
    yield line(4, 1, later + 90_100, "tool.started", call=look, **inner)
    yield {"event": "hook.ran", "run": "3", "turn": 1, "at": later}


def waiting():
    """Returns a run that waits for a decision and is resumed an hour later, and one that still waits."""
    pay = {"id": "c1", "name": "pay", "arguments": '{"to": "Ada", "sum": 120}'}
    usage = {"input_tokens": 640, "cache_read_tokens": 0, "output_tokens": 22, "reasoning_tokens": 0}
    stopped = {"code": "AWAITING_APPROVAL", "error": "one of the model's calls waits for approval", "usage": usage}
    for run, start, by in [(5, 0, "Grace"), (6, 4_000_000_000, "Barbara")]:
        yield line(run, 0, start, "run.started")
        yield line(run, 0, start, "run.message_added", source="system", text="You keep the books.")
        yield line(run, 0, start, "run.message_added", source="user", text=f"Pay Ada what {by} says.")
        yield line(run, 1, start + 100, "model.requested")
        yield line(run, 1, start + 40_000, "model.replied", text="", calls=[pay], usage=usage, duration_us=39_900)
        yield line(run, 1, start + 40_100, "tool.started", call=pay)
        yield line(run, 1, start + 40_200, "tool.approval_requested", call="c1", tool="pay", arguments=pay["arguments"])
        wait = ended(pay, start + 41_000, 900, "It awaits approval.", error="TOOL_AWAITING_APPROVAL", blocked_by="pending")
        yield line(run, 1, start + 41_000, "tool.finished", **wait)
        yield line(run, 1, start + 42_000, "run.finished", cost=0.0042, duration_us=42_000, **stopped)
        if run == 5:
            later = start + 3_600_000_000
            yield line(run, 1, later, "run.started")
            yield line(run, 1, later + 100, "tool.started", call=pay)
            yield line(run, 1, later + 9_000, "tool.finished", **ended(pay, later + 9_000, 8_900, "Ada is paid."))
            yield line(run, 1, later + 9_100, "run.message_added", source="steering", text="Tell her, too.")
            yield line(run, 2, later + 9_200, "model.requested")
            usage = {"input_tokens": 710, "cache_read_tokens": 600, "output_tokens": 9, "reasoning_tokens": 0}
            yield line(run, 2, later + 30_000, "model.replied", text="Ada is paid.", calls=[], usage=usage, duration_us=20_800)
            both = {"input_tokens": 1_350, "cache_read_tokens": 600, "output_tokens": 31, "reasoning_tokens": 0}
            yield line(run, 2, later + 30_100, "run.finished", usage=both, cost=0.0051, duration_us=30_100)


DIFF = """\
diff --git a/src/total.rs b/src/total.rs
--- a/src/total.rs
+++ b/src/total.rs
@@ -1,3 +1,3 @@
 pub fn total(items: &[u32]) -> u32 {
-    items.iter().sum::<u32>() - 1
+    items.iter().sum::<u32>() // <script>alert(1)</script>
 }
"""


def edited():
    """Returns a run with a call that changed one file, and one that changed two."""
    yield line(7, 0, 0, "run.started")
    for n, paths in enumerate([["src/total.rs"], ["src/total.rs", "src/lib.rs"]]):
        call = {"id": f"c{n}", "name": "file_edit", "arguments": "{}"}
        at = 1_000 * (n + 1)
        yield line(7, 1, at, "tool.started", call=call)
        effects = [
            {"kind": "file_changed", "path": path, "op": "write", "diff": DIFF.replace("src/total.rs", path)} for path in paths
        ]
        yield line(7, 1, at + 900, "tool.finished", **ended(call, at + 900, 900, "Edited.", effects=effects))
    yield line(7, 1, 10_000, "run.finished", duration_us=10_000)


def write(path, events, rest=""):
    path.write_text("".join(json.dumps(event) + "\n" for event in events) + rest)
