"""Runs steps of CI one after the other and prints a table of them.

A step is an executable file in `.ci/steps/FOLDER`, which also runs alone. Its status is 0 if it
passed, 69 if what it needs can't be had here (its last line is the reason), and another one if it
failed. The other steps run nevertheless.

`main` runs the steps; `compilations.py` counts what they compiled; `record.py` skips steps that
passed before.
"""

import argparse
import os
import resource
import signal
import subprocess
import sys
import time
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

    outcomes = []
    compiled = []
    for step in arguments.steps:
        file = Path(".ci/steps") / arguments.folder / step
        inputs = record and record.files(file)
        if record and record.has_passed(file, inputs):
            outcomes.append(Outcome(step, "skipped", note=f"passed {record.date(file)}"))
            continue
        print(f"\n== {step}: {purpose(ROOT / file)}", flush=True)
        outcome, units = run(file, out / f"{step}.log")
        compiled += units
        outcomes.append(outcome)
        if record and outcome.result == "passed":
            record.add(file, inputs)

    if arguments.each_once:
        outcomes.append(check_compilations(compiled, target))
    for outcome in outcomes:
        if outcome.result == "failed":
            print_failure(outcome, arguments.folder, out)
    print_table(outcomes)
    failing = {"failed", "unavailable"} if arguments.complete else {"failed"}
    return any(outcome.result in failing for outcome in outcomes)


def parse():
    parser = argparse.ArgumentParser(prog=".ci/run, .ci/full")
    parser.add_argument("folder", help="the folder of the steps below .ci/steps")
    parser.add_argument("steps", nargs="+", metavar="STEP", help="steps to run, by their names")
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
    for step in arguments.steps:
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


def run(file, log):
    """Runs a step and returns its outcome and what it compiled."""
    units = log.with_suffix(".compilations")
    units.unlink(missing_ok=True)
    environment = dict(os.environ, CI_COMPILATIONS=str(units), RUSTC_WRAPPER=str(RUNNER / "rustc"))
    started = time.monotonic()
    cpu_started = cpu_seconds()
    status = stream(file, log, environment)
    outcome = Outcome(file.name, "passed")
    outcome.seconds = time.monotonic() - started
    outcome.cpu_seconds = cpu_seconds() - cpu_started
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
    return outcome, compiled


def stream(file, log, environment):
    """Runs a program, writes its output to the terminal and to a file, and returns its status."""
    with log.open("wb") as saved:
        try:
            process = subprocess.Popen(
                [ROOT / file], cwd=ROOT, env=environment, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
            )
        except OSError as error:
            saved.write(f"{error}\n".encode())
            return 126
        signal.signal(signal.SIGALRM, lambda *_: os.killpg(process.pid, signal.SIGKILL))
        signal.alarm(MAX_SECONDS)
        try:
            for line in process.stdout:
                saved.write(line)
                sys.stdout.buffer.write(line)
                sys.stdout.flush()
            return process.wait()
        except KeyboardInterrupt:
            os.killpg(process.pid, signal.SIGTERM)
            raise
        finally:
            signal.alarm(0)


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


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


def print_table(outcomes):
    total = Outcome("total", "", *(
        sum(getattr(outcome, column) for outcome in outcomes)
        for column in ("seconds", "cpu_seconds", "compiled")
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
