#!/usr/bin/env python3
"""Measures the figures that users and the documentation rely on, and fails if one got worse.

`accepted.toml` beside this file has the accepted value of each figure. A figure fails if it exceeds
its value by more than a tenth in three measurements. Other work on the machine only makes figures
worse, so the least of the measurements counts. With arguments, only the commands that contain one of
them are measured: `measure.py ratios allocations`.
"""

import pathlib
import re
import shlex
import subprocess
import sys
import tomllib

FIGURES = pathlib.Path(__file__).resolve().parent
ROOT = FIGURES.parents[2]
MEASUREMENTS = 3
TOLERANCE = 1.1


def measure(command):
    """Runs a command and returns the tables that it prints: the rows of each, with the header."""
    print(f"== {command}", flush=True)
    output = subprocess.run(
        shlex.split(command), cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    print(output, flush=True)
    tables = [[]]
    for line in output.splitlines():
        if not line.startswith("|"):
            tables.append([])
        elif not line.startswith("|---"):
            tables[-1].append([cell.strip() for cell in line.strip("|").split("|")])
    return [table for table in tables if table]


def read(tables, figure):
    """Returns the value of a figure: one cell of the row that begins as the figure says."""
    cells = [
        row[table[0].index(figure["column"])]
        for table in tables
        if figure["column"] in table[0] and figure.get("table", table[0][0]) == table[0][0]
        for row in table[1:]
        if row[: len(figure["row"])] == figure["row"]
    ]
    if len(cells) != 1:
        sys.exit(f"{len(cells)} rows begin with {figure['row']} and have {figure['column']!r}")
    return float(re.sub("[^0-9.]", "", cells[0]))


def main():
    commands = tomllib.loads((FIGURES / "accepted.toml").read_text())["command"]
    if sys.argv[1:]:
        commands = [it for it in commands if any(word in it["run"] for word in sys.argv[1:])]
    table = []
    for command in commands:
        least = {}
        for _ in range(MEASUREMENTS):
            tables = measure(command["run"])
            for name, figure in command["figures"].items():
                least[name] = min(least.get(name, float("inf")), read(tables, figure))
            if all(least[it] <= command["figures"][it]["value"] * TOLERANCE for it in least):
                break
        table += [(name, figure["value"], least[name]) for name, figure in command["figures"].items()]

    print("| figure | value | accepted | |")
    print("|---|---|---|---|")
    for name, accepted, value in table:
        verdict = "worse" if value > accepted * TOLERANCE else ""
        print(f"| {name} | {value:g} | {accepted:g} | {verdict} |")
    worse = [name for name, accepted, value in table if value > accepted * TOLERANCE]
    sys.exit(f"worse by more than a tenth: {'; '.join(worse)}" if worse else 0)


main()
