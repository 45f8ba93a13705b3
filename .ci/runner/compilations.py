"""Reads the compilations that the wrapper `rustc` beside this file has recorded."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

# Macros and build scripts use these with fewer features, so they are built once more for them.
BUILT_FOR_MACROS = {"fastrand", "libc", "memchr", "serde_core", "serde_json"}


@dataclass(frozen=True)
class Compilation:
    package: str
    version: str
    crate: str
    kind: str
    sources: str
    folder: str


def read(file):
    """Returns the compilations in a file, which does not exist if there were none."""
    if not file.exists():
        return []
    return [Compilation(*line.split("\t")) for line in file.read_text().splitlines()]


def repeated(compiled, root, target):
    """Returns a line for each dependency that was checked twice or built twice.

    What is compiled in another folder than that of the build is not counted: trybuild and the tools
    in Rust compile in folders of their own.
    """
    counts = Counter(
        (unit.package, unit.version, unit.crate, unit.kind)
        for unit in compiled
        if not Path(unit.sources).is_relative_to(root)
        and Path(unit.folder).is_relative_to(target / "debug")
    )
    return [
        f"{package} {version}: {count} × {kind} of {crate}"
        for (package, version, crate, kind), count in sorted(counts.items())
        if count > 1 + (kind == "build" and package in BUILT_FOR_MACROS)
    ]
