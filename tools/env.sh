#!/bin/sh
# Creates or refreshes a virtual environment that holds requirements.lock, and this project as an editable install.
#
#   tools/env.sh [--demo] DIRECTORY [PYTHON]
#
# With --demo it installs the first part of requirements.lock only; a later run without --demo adds the rest. Does nothing
# when that is done, requirements.lock and pyproject.toml are older, and DIRECTORY runs this clone and no copy of it. Uses
# PYTHON (default: python3) if its version is supported, else the first supported python3.X on PATH. Prints a line for each
# stage; what the commands print is shown only if one fails.
set -eu

minors="14 13 12 11" # supported versions of Python 3, newest first
supported="Python 3.11 to 3.14"

stamp=.stamp
if [ "$1" = --demo ]; then
    stamp=.stamp-demo
    shift
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

# True when the environment has what the stamp $1 stands for, as the lock and the project ask for it today.
is_current() {
    [ -e "$venv/$1" ] && [ -z "$(find requirements.lock pyproject.toml -newer "$venv/$1")" ]
}

has_packages() {
    is_current .stamp || is_current "$stamp"
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
if [ "$runs" = clone ] && has_packages; then exit 0; fi
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
    quietly "$python" -m venv "$venv"
fi
if ! has_packages; then
    packages=requirements.lock added='/^# Part 1/,$p' more=
    if [ "$stamp" = .stamp-demo ]; then
        packages=$venv/demo.lock added='/^# Part 1/,/^# Part 2/p'
        sed -n "$added" requirements.lock >"$packages"
    elif is_current .stamp-demo; then
        added='/^# Part 2/,$p' more='more '
    fi
    # Those with a marker are for other platforms, or for newer versions of Python.
    say "installing $(sed -n "$added" requirements.lock | grep -c '^[a-z0-9][^;]*\\$') ${more}packages"
    install --no-compile --require-hashes --only-binary :all: -r "$packages"
fi
install --no-deps --no-build-isolation --editable .
say 'compiling'
quietly "$venv/bin/python" -m compileall -q -j 0 core sim app trunkline
# What the demo imports of its packages is compiled by its first start, in a tenth of the time. Packages have files that
# are no Python, such as templates: those do not compile, and nothing imports them.
if [ "$stamp" = .stamp ]; then "$venv/bin/python" -m compileall -qq -j 0 "$venv/lib" >/dev/null 2>&1 || true; fi
touch "$venv/$stamp"
rm -f "$log"
