#!/bin/sh
# Makes or refreshes a virtual environment that holds exactly requirements.lock, and this project as an editable install.
#
#   tools/env.sh DIRECTORY [PYTHON]
#
# Nothing is done when DIRECTORY is newer than requirements.lock and pyproject.toml. PYTHON (default: python3) is used
# when its version is supported; otherwise python3.13, python3.12 and python3.11 are tried. Quiet unless something fails.
set -eu

venv=$1
wanted=${2:-python3}
log=$venv.log

fail() {
    printf 'trunkline: %s\n' "$@" >&2
    exit 1
}

fresh() {
    [ -e "$venv/.stamp" ] && "$venv/bin/python" -c '' 2>/dev/null &&
        [ -z "$(find requirements.lock pyproject.toml -newer "$venv/.stamp")" ]
}

supported() {
    "$1" -c 'import sys; raise SystemExit(not (3, 11) <= sys.version_info[:2] < (3, 14))' >/dev/null 2>&1
}

find_python() {
    for python in "$wanted" python3.13 python3.12 python3.11; do
        if supported "$python"; then
            printf '%s\n' "$python"
            return
        fi
    done
    if command -v "$wanted" >/dev/null 2>&1; then
        what="'$wanted' is $("$wanted" --version 2>&1 || true)"
    else
        what="there is no '$wanted' on PATH"
    fi
    fail "no supported Python found: $what, and python3.13, python3.12 and python3.11 are not there either." \
        "Python 3.11, 3.12 or 3.13 is needed. Install one, or name it: make env PYTHON=python3.12"
}

# Runs a command silently; shows what it printed only when it fails.
quietly() {
    if ! "$@" >>"$log" 2>&1; then
        cat "$log" >&2
        fail "this step failed: $*" "what it printed is above, and in $log"
    fi
}

# Two runs of make at once must not install into one environment at the same time.
if command -v flock >/dev/null 2>&1; then
    mkdir -p "$(dirname "$venv")"
    exec 9>"$venv.lock"
    flock 9
fi
if fresh; then exit 0; fi

python=$(find_python)
: >"$log"
if ! { [ -x "$venv/bin/python" ] && supported "$venv/bin/python" && "$venv/bin/python" -m pip --version; } >/dev/null 2>&1; then
    if ! "$python" -c 'import venv, ensurepip' >/dev/null 2>&1; then
        fail "'$python' cannot make virtual environments: its venv module is missing." \
            "On Debian and Ubuntu: apt-get install python3-venv. Or name another Python: make env PYTHON=python3.12"
    fi
    printf 'trunkline: making %s with %s\n' "$venv" "$("$python" --version)"
    rm -rf "$venv"
    quietly "$python" -m venv "$venv"
fi
printf 'trunkline: installing requirements.lock into %s\n' "$venv"
quietly "$venv/bin/python" -m pip install --disable-pip-version-check --no-input --require-hashes --only-binary :all: -r requirements.lock
quietly "$venv/bin/python" -m pip install --disable-pip-version-check --no-input --no-deps --no-build-isolation --editable .
# pip compiles what it installs, but not what an editable install points at: the first start would have to.
quietly "$venv/bin/python" -m compileall -q core sim app trunkline
touch "$venv/.stamp"
rm -f "$log"
