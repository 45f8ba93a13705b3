"""Remembers which steps have passed with which inputs.

A step names its inputs in a comment, as git's pathspecs: `# inputs: tool-runtime Cargo.lock`. Their
hash covers the files as they are, whether committed or not, the step itself, the runner and the
versions of the tools.
"""

import hashlib
import json
import subprocess
import time

RUNNER = [".ci/runner", ".ci/shared.sh"]
TOOLS = [["rustc", "-vV"], ["cargo", "-V"], ["python3", "-V"], ["uname", "-srm"]]


class Record:
    def __init__(self, root, file):
        self.root = root
        self.file = file
        self.steps = json.loads(file.read_text()) if file.exists() else {}

    def inputs(self, step):
        """Returns the hash of what a step depends on, or None if it does not name its inputs."""
        specs = next(
            (
                line.removeprefix("# inputs:").split()
                for line in (self.root / step).read_text().splitlines()
                if line.startswith("# inputs:")
            ),
            None,
        )
        if specs is None:
            return None
        digest = hashlib.sha256()
        for tool in TOOLS:
            digest.update(subprocess.run(tool, check=True, capture_output=True).stdout)
        listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--"]
        files = subprocess.run(
            [*listed, *specs, *RUNNER, str(step)], cwd=self.root, check=True, capture_output=True
        ).stdout
        for name in sorted(set(files.split(b"\0")) - {b""}):
            path = self.root / name.decode()
            if not path.is_file():
                continue
            content = path.read_bytes()
            digest.update(b"%s %d %o\n" % (name, len(content), path.stat().st_mode & 0o111))
            digest.update(content)
        return digest.hexdigest()

    def has_passed(self, step, inputs):
        return inputs is not None and self.steps.get(step, {}).get("inputs") == inputs

    def date(self, step):
        return self.steps[step]["date"]

    def add(self, step, inputs):
        if inputs is None:
            return
        date = time.strftime("%Y-%m-%d %H:%M", time.gmtime())
        self.steps[step] = {"inputs": inputs, "date": date}
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_text(json.dumps(self.steps, indent=2) + "\n")
