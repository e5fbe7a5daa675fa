#!/bin/sh
# Creates or refreshes a virtual environment that holds exactly requirements.lock, and this project as an editable install.
#
#   tools/env.sh DIRECTORY [PYTHON]
#
# Does nothing when DIRECTORY is newer than requirements.lock and pyproject.toml. Uses PYTHON (default: python3) if its
# version is supported, else the first supported python3.X on PATH. Quiet unless something fails.
set -eu

minors="14 13 12 11" # supported versions of Python 3, newest first
supported="Python 3.11 to 3.14"

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
    flock 9
fi
if fresh; then exit 0; fi

python=$(find_python)
: >"$log"
if ! { [ -x "$venv/bin/python" ] && is_supported "$venv/bin/python" && "$venv/bin/python" -m pip --version; } >/dev/null 2>&1; then
    if ! "$python" -c 'import venv, ensurepip' >/dev/null 2>&1; then
        fail "'$python' cannot create virtual environments: its venv module is missing." \
            "On Debian and Ubuntu: apt-get install python3-venv. Or name another Python: make env PYTHON=/path/to/python"
    fi
    printf 'trunkline: creating %s with %s\n' "$venv" "$("$python" --version)"
    rm -rf "$venv"
    quietly "$python" -m venv "$venv"
fi
printf 'trunkline: installing requirements.lock into %s\n' "$venv"
quietly "$venv/bin/python" -m pip install --disable-pip-version-check --no-input --require-hashes --only-binary :all: -r requirements.lock
quietly "$venv/bin/python" -m pip install --disable-pip-version-check --no-input --no-deps --no-build-isolation --editable .
# pip compiles what it installs, but not the target of an editable install: the first start would have to.
quietly "$venv/bin/python" -m compileall -q core sim app trunkline
touch "$venv/.stamp"
rm -f "$log"
