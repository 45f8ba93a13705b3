"""Runs steps of CI and prints a table of them.

A step is an executable file in `.ci/steps/FOLDER`, which also runs alone. Its status is 0 if it
passed, 69 if what it needs can't be had here (its last line is the reason), and another one if it
failed. The other steps run nevertheless. Steps run one after the other, and two at a time where
their names are joined by commas: each of those keeps one core busy.

`main` runs the steps; `compilations.py` counts what they compiled; `record.py` skips steps that
passed before.
"""

import argparse
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import compilations
from record import Record

ROOT = Path(__file__).resolve().parents[2]
RUNNER = Path(__file__).parent
UNAVAILABLE = 69
# A step that takes longer hangs.
MAX_SECONDS = 3600
LAST_LINES = 40

# The ids of the processes of steps that run now.
running = set()


@dataclass
class Outcome:
    step: str
    result: str
    seconds: float = 0
    cpu_seconds: float = 0
    compiled: int = 0
    note: str = ""


def main():
    arguments = parse()
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
    out = target / "ci" / arguments.folder
    out.mkdir(parents=True, exist_ok=True)
    record = Record(ROOT, arguments.record or out / "record.json") if arguments.skip else None

    started = time.monotonic()
    outcomes = []
    compiled = []
    for group in arguments.steps:
        files = [Path(".ci/steps") / arguments.folder / step for step in group]
        is_alone = len(files) == 1
        with ThreadPoolExecutor(2) as pool:
            runs = [pool.submit(run, file, out, record, is_alone) for file in files]
            try:
                results = [it.result() for it in runs]
            except KeyboardInterrupt:
                pool.shutdown(wait=False, cancel_futures=True)
                for process in list(running):
                    os.killpg(process, signal.SIGTERM)
                raise
        for outcome, units in results:
            outcomes.append(outcome)
            compiled += units

    if arguments.each_once:
        outcomes.append(check_compilations(compiled, target))
    for outcome in outcomes:
        if outcome.result == "failed":
            print_failure(outcome, arguments.folder, out)
    print_table(outcomes, time.monotonic() - started)
    failing = {"failed", "unavailable"} if arguments.complete else {"failed"}
    return any(outcome.result in failing for outcome in outcomes)


def parse():
    parser = argparse.ArgumentParser(prog=".ci/run, .ci/full")
    parser.add_argument("folder", help="the folder of the steps below .ci/steps")
    parser.add_argument(
        "steps", nargs="+", metavar="STEP", type=lambda names: names.split(","),
        help="steps to run, by their names; A,B may run at the same time",
    )
    parser.add_argument(
        "--each-once", action="store_true", help="fail if a dependency is compiled a third time"
    )
    parser.add_argument(
        "--complete", action="store_true", help="fail if a step is unavailable"
    )
    parser.add_argument(
        "--skip", action="store_true", help="skip a step that has passed with the same inputs"
    )
    parser.add_argument("--record", type=Path, metavar="FILE", help="the file of passed steps")
    arguments = parser.parse_args()
    known = {file.name for file in (ROOT / ".ci/steps" / arguments.folder).iterdir()}
    for step in (step for group in arguments.steps for step in group):
        if step not in known:
            parser.error(f"unknown step {step!r}; there are: {', '.join(sorted(known))}")
    return arguments


def purpose(file):
    """Returns the first sentence of the comment or docstring of a step."""
    for line in file.read_text().splitlines()[1:]:
        line = line.strip('#" ')
        if line:
            return line.split(". ")[0].rstrip(".")
    return ""


def run(file, out, record, is_alone):
    """Runs a step, unless it has passed before, and returns its outcome and what it compiled."""
    inputs = record and record.files(file)
    if record and record.has_passed(file, inputs):
        return Outcome(file.name, "skipped", note=f"passed {record.date(file)}"), []
    title = f"\n== {file.name}: {purpose(ROOT / file)}"
    if is_alone:
        print(title, flush=True)
    log = out / f"{file.name}.log"
    units = log.with_suffix(".compilations")
    units.unlink(missing_ok=True)
    environment = dict(os.environ, CI_COMPILATIONS=str(units), RUSTC_WRAPPER=str(RUNNER / "rustc"))
    started = time.monotonic()
    outcome = Outcome(file.name, "passed")
    status, outcome.cpu_seconds = execute(file, log, environment, is_alone)
    outcome.seconds = time.monotonic() - started
    if not is_alone:
        print(f"{title}\n{log.read_text(errors='replace')}", flush=True)
    compiled = compilations.read(units)
    outcome.compiled = len(compiled)
    if status == UNAVAILABLE:
        outcome.result = "unavailable"
        outcome.note = (last_lines(log, 1) or ["it printed no reason"])[0]
    elif status != 0:
        outcome.result = "failed"
        outcome.note = f"status {status}"
        if outcome.seconds >= MAX_SECONDS:
            outcome.note = f"killed after {MAX_SECONDS // 60} minutes"
    elif record:
        record.add(file, inputs)
    return outcome, compiled


def execute(file, log, environment, is_alone):
    """Runs a program and returns its status and its seconds of CPU time. Writes its output to a
    file, and to the terminal if no other program runs."""
    with log.open("wb") as saved:
        try:
            process = subprocess.Popen(
                [ROOT / file], cwd=ROOT, env=environment, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
            )
        except OSError as error:
            saved.write(f"{error}\n".encode())
            return 126, 0
        limit = threading.Timer(MAX_SECONDS, os.killpg, (process.pid, signal.SIGKILL))
        limit.start()
        running.add(process.pid)
        try:
            for line in process.stdout:
                saved.write(line)
                if is_alone:
                    sys.stdout.buffer.write(line)
                    sys.stdout.flush()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, usage.ru_utime + usage.ru_stime
        finally:
            running.discard(process.pid)
            limit.cancel()


def last_lines(log, count):
    return log.read_text(errors="replace").splitlines()[-count:]


def check_compilations(compiled, target):
    """Returns the outcome of the rule that each dependency is checked once and built once."""
    outcome = Outcome("compilations", "passed")
    repeated = compilations.repeated(compiled, ROOT, target)
    if repeated:
        outcome.result = "failed"
        outcome.note = f"{len(repeated)} dependencies were compiled repeatedly"
        print("\n== dependencies that were checked or built more than once")
        print("\n".join(repeated), flush=True)
    return outcome


def print_failure(outcome, folder, out):
    log = out / f"{outcome.step}.log"
    if not log.exists():
        return
    print(f"\n== {outcome.step} failed ({outcome.note}); the end of {log}:")
    print("\n".join(last_lines(log, LAST_LINES)))
    print(f"To repeat it alone: .ci/steps/{folder}/{outcome.step}", flush=True)


def print_table(outcomes, seconds):
    total = Outcome("total", "", seconds, *(
        sum(getattr(outcome, column) for outcome in outcomes)
        for column in ("cpu_seconds", "compiled")
    ))
    print("\n| step | result | min:s | CPU min:s | crates compiled | |")
    print("|---|---|---|---|---|---|")
    for outcome in [*outcomes, total]:
        times = " | ".join(minutes(time) for time in (outcome.seconds, outcome.cpu_seconds))
        print(f"| {outcome.step} | {outcome.result} | {times} | {outcome.compiled} | {outcome.note} |")
    results = [outcome.result for outcome in outcomes]
    failed = results.count("failed")
    skipped = results.count("skipped") + results.count("unavailable")
    print(f"\n{results.count('passed')} passed, {failed} failed, {skipped} skipped", flush=True)


def minutes(seconds):
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


sys.exit(main())
