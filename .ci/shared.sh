# What steps share. A step begins with `source "$(dirname "$0")/../../shared.sh"`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# CI builds nothing twice, so incremental compilation would only take time and disk.
export CARGO_INCREMENTAL=0
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
# Python packages and cargo subcommands that steps install.
tools=$target/tools
mkdir -p "$tools"
export PATH=$tools/python/bin:$tools/bin:$PATH

# Ends a step that can't run here. The status is EX_UNAVAILABLE of sysexits.h.
unavailable() { # REASON
  echo "$1"
  exit 69
}

# Installs packages of Python into a folder, unless they are there.
pip_install() { # FOLDER PACKAGE...
  local folder=$1
  shift
  [ "$(cat "$folder/packages" 2>/dev/null)" != "$*" ] || return 0
  python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore \
    --upgrade --target "$folder" "$@" || unavailable "pip can't install $* here"
  echo "$*" >"$folder/packages"
}

# Installs a subcommand of cargo. An optimized build takes longer than it saves.
cargo_install() { # NAME VERSION
  "cargo-$1" "$1" --version 2>/dev/null | grep -q " $2\$" ||
    RUSTC_WRAPPER='' cargo install --quiet --debug --locked --root "$tools" --version "$2" "cargo-$1" ||
    unavailable "cargo-$1 $2 can't be installed here"
}

# Installs a package of Debian, unless its program is there. Steps that run at the same time wait.
apt_install() { # PROGRAM PACKAGE
  command -v "$1" >/dev/null ||
    (flock 9 && apt-get update -qq &&
      DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$2" >/dev/null) 9>"$tools/apt.lock" ||
    unavailable "Debian's package $2 can't be installed here"
}

# Runs tests by their names, and fails unless so many passed: a name that matches no test passes.
exactly() { # COUNT COMMAND...
  local count=$1 log passed
  shift
  log=$(mktemp)
  "$@" | tee "$log"
  passed=$(sed -n 's/^test result: ok. \([0-9]*\) passed.*/\1/p' "$log" | awk '{ sum += $1 } END { print sum + 0 }')
  rm "$log"
  [ "$passed" = "$count" ] || { echo "$passed tests passed instead of $count"; return 1; }
}

# Copies the files of the repository, changed or not, into a folder: what changes them runs there.
copy_repository() { # FOLDER
  git ls-files -z --cached --others --exclude-standard |
    python3 -c '
import os, shutil, sys
for name in filter(None, sys.stdin.read().split("\0")):
    if os.path.isfile(name):
        os.makedirs(os.path.dirname(os.path.join(sys.argv[1], name)), exist_ok=True)
        shutil.copy(name, os.path.join(sys.argv[1], name))' "$1"
}

# Prints the features of a crate.
features_of() { # CRATE
  cargo metadata --no-deps --format-version 1 | python3 -c '
import json, sys
packages = json.load(sys.stdin)["packages"]
crate = next(package for package in packages if package["name"] == sys.argv[1])
print(*sorted(set(crate["features"]) - {"default"}))' "$1"
}

# Checks a crate without features and with each feature alone.
each_feature() { # CRATE
  local feature warnings
  for feature in "" $(features_of "$1"); do
    echo "$1: ${feature:-no feature}"
    warnings=$(cargo check --quiet -p "$1" --no-default-features --features "$feature" 2>&1) ||
      { echo "$warnings"; return 1; }
    [ -z "$warnings" ] || { echo "$warnings"; return 1; }
  done
}
