#!/bin/sh
# Creates or refreshes a virtual environment that holds requirements.lock, and this project as an editable install.
#
#   tools/env.sh [--parts N] DIRECTORY [PYTHON]
#
# Installs the first N parts of requirements.lock, by default all three; a later run with a greater N adds the others. Does
# nothing when they are newer than requirements.lock and pyproject.toml, and DIRECTORY runs this clone and no copy of it.
# Uses PYTHON (default: python3) if its version is supported, else the first supported python3.X on PATH. Prints a line for
# each stage; what the commands print is shown only if one fails.
set -eu

minors="14 13 12 11" # supported versions of Python 3, newest first
supported="Python 3.11 to 3.14"

parts=3
if [ "$1" = --parts ]; then
    parts=$2
    shift 2
fi
venv=$1
wanted=${2:-python3}
log=$venv.log

say() {
    printf 'trunkline: %s\n' "$1"
}

fail() {
    printf 'trunkline: %s\n' "$@" >&2
    exit 1
}

# Prints how many parts of the lock the environment has, as the lock and the project are today.
installed_parts() {
    for part in 3 2 1; do
        if [ -e "$venv/.stamp-$part" ] && [ -z "$(find requirements.lock pyproject.toml -newer "$venv/.stamp-$part")" ]; then
            echo "$part"
            return
        fi
    done
    echo 0
}

# Prints the lock from part $1 to the last one that is wanted.
lock_from() {
    awk -v first="$1" -v last="$parts" '/^# Part / { part = $3 + 0 } first <= part && part <= last' requirements.lock
}

# Prints what `import trunkline` finds in the environment: "clone" for the code of this clone, "copy" for other code.
imported() {
    "$venv/bin/python" -I -c '
import importlib.util, os
spec = importlib.util.find_spec("trunkline")
if spec: print("clone" if os.path.samefile(spec.origin, "trunkline/__init__.py") else "copy")' 2>/dev/null || true
}

is_supported() {
    "$1" -c 'import sys; raise SystemExit(sys.version_info[0] != 3 or str(sys.version_info[1]) not in sys.argv[1].split())' \
        "$minors" >/dev/null 2>&1
}

find_python() {
    for python in "$wanted" $(printf 'python3.%s ' $minors); do
        if is_supported "$python"; then
            printf '%s\n' "$python"
            return
        fi
    done
    if command -v "$wanted" >/dev/null 2>&1; then
        found="'$wanted' is $("$wanted" --version 2>&1 || true)"
    else
        found="'$wanted' is not on PATH"
    fi
    fail "$supported is needed, and none was found: $found." "Install one, or name it: make env PYTHON=/path/to/python"
}

# Runs a command; shows its output only if it fails.
quietly() {
    if ! "$@" >>"$log" 2>&1; then
        cat "$log" >&2
        fail "this step failed: $*" "its output is above, and in $log"
    fi
}

install() {
    quietly "$venv/bin/python" -m pip install --disable-pip-version-check --no-input "$@"
}

# A checkout without symbolic links (Git on Windows without core.symlinks) has text files in place of the packages.
for package in core sim app; do
    [ -d "trunkline/$package" ] ||
        fail "trunkline/$package is not a link to the folder $package: this checkout was made without symbolic links." \
            "Set 'git config core.symlinks true' and check out again, or install a wheel: pip install git+URL"
done

# Two runs of make at once must not install into one environment at the same time.
if command -v flock >/dev/null 2>&1; then
    mkdir -p "$(dirname "$venv")"
    exec 9>"$venv.lock"
    if ! flock -n 9; then
        say "waiting for another run that installs into $venv"
        flock 9
    fi
fi
runs=$(imported)
has=$(installed_parts)
if [ "$runs" = clone ] && [ "$has" -ge "$parts" ]; then exit 0; fi
# `pip install .` without --editable does this.
if [ "$runs" = copy ]; then say "$venv runs a copy of Trunkline, not this clone: linking it to the clone again"; fi

python=$(find_python)
: >"$log"
if ! { [ -x "$venv/bin/python" ] && is_supported "$venv/bin/python" && "$venv/bin/python" -m pip --version; } >/dev/null 2>&1; then
    if ! "$python" -c 'import venv, ensurepip' >/dev/null 2>&1; then
        fail "'$python' cannot create virtual environments: its venv module is missing." \
            "On Debian and Ubuntu: apt-get install python3-venv. Or name another Python: make env PYTHON=/path/to/python"
    fi
    say "creating $venv with $("$python" --version)"
    rm -rf "$venv"
    has=0
    quietly "$python" -m venv "$venv"
fi
if [ "$has" -lt "$parts" ]; then
    if [ "$has" -gt 0 ]; then more='more '; else more=; fi
    # Those with a marker are for other platforms, or for newer versions of Python.
    say "installing $(lock_from $((has + 1)) | grep -c '^[a-z0-9][^;]*\\$') ${more}packages"
    lock_from 1 >"$venv/requirements.lock"
    install --no-compile --require-hashes --only-binary :all: -r "$venv/requirements.lock"
fi
install --no-deps --no-build-isolation --editable .
say 'compiling'
quietly "$venv/bin/python" -m compileall -q -j 0 core sim app trunkline
# What the demo imports of its packages is compiled by its first start, in a tenth of the time. Packages have files that
# are no Python, such as templates: those do not compile, and nothing imports them.
if [ "$parts" -gt 1 ]; then "$venv/bin/python" -m compileall -qq -j 0 "$venv/lib" >/dev/null 2>&1 || true; fi
touch "$venv/.stamp-$parts"
rm -f "$log"
