"""Remembers which steps have passed with which inputs.

A step names its inputs in a comment, as git's pathspecs: `# inputs: tool-runtime Cargo.lock`. What
was recorded holds while these files, whether committed or not, the step itself, the runner, the
settings of cargo and the versions of the tools are the same. `# tools: bwrap --version` names a tool that not all steps use.
A step without inputs is never skipped.
"""

import hashlib
import json
import shlex
import subprocess
import threading
import time

RUNNER = [".ci/runner", ".ci/shared.sh", ".cargo", ".clippy.toml"]
TOOLS = ["rustc -vV", "cargo -V", "python3 -V", "uname -srm"]


class Record:
    def __init__(self, root, file):
        self.root = root
        self.file = file
        self.lock = threading.Lock()
        self.steps = json.loads(file.read_text()) if file.exists() else {}

    def files(self, step):
        """Returns the hash of the files that a step depends on, or None if it names no inputs."""
        specs = self.named(step, "inputs")
        if specs is None:
            return None
        listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--"]
        files = subprocess.run(
            [*listed, *specs.split(), *RUNNER, str(step)],
            cwd=self.root, check=True, capture_output=True,
        ).stdout
        digest = hashlib.sha256()
        for name in sorted(set(files.split(b"\0")) - {b""}):
            path = self.root / name.decode()
            if path.is_file():
                content = path.read_bytes()
                digest.update(b"%s %d %o\n" % (name, len(content), path.stat().st_mode & 0o111))
                digest.update(content)
        return digest.hexdigest()

    def tools(self, step):
        """Returns the hash of the versions of the tools that a step uses."""
        digest = hashlib.sha256()
        for tool in [*TOOLS, *filter(None, (self.named(step, "tools") or "").split(";"))]:
            try:
                digest.update(subprocess.run(shlex.split(tool), capture_output=True).stdout)
            except FileNotFoundError:
                digest.update(b"missing")
        return digest.hexdigest()

    def named(self, step, key):
        """Returns the rest of the comments that begin with a key, or None if there are none."""
        lines = (self.root / step).read_text().splitlines()
        found = [line.partition(":")[2] for line in lines if line.startswith(f"# {key}:")]
        return " ".join(found).strip() if found else None

    def has_passed(self, step, files):
        passed = self.steps.get(step.name, {})
        return files is not None and passed.get("files") == files and (
            passed.get("tools") == self.tools(step)
        )

    def date(self, step):
        return self.steps[step.name]["date"]

    def add(self, step, files):
        """Records that a step has passed with these files. It may have installed its tools."""
        if files is None:
            return
        date = time.strftime("%Y-%m-%d %H:%M", time.gmtime())
        passed = {"files": files, "tools": self.tools(step), "date": date}
        with self.lock:
            self.steps[step.name] = passed
            self.file.parent.mkdir(parents=True, exist_ok=True)
            self.file.write_text(json.dumps(self.steps, indent=2) + "\n")
