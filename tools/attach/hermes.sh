#!/bin/sh
# Installs Hermes Agent, a gateway that is not ours, into .gateways/hermes, from tools/attach/hermes.lock.
#
#   tools/attach/hermes.sh             does nothing if .gateways/hermes is whole and newer than the lock file
#   tools/attach/hermes.sh --lock      pins again what tools/attach/hermes.in asks for (needs uv)
#
# It shares no environment with ours, because it needs other versions. Every package is checked against its hash in the
# lock file. PYTHON names another interpreter than that of .venv; Hermes needs Python 3.11 to 3.13.
set -eu
cd "$(dirname "$0")/../.."
lock=tools/attach/hermes.lock
home=.gateways/hermes
log=.gateways/hermes.log

fail() {
    printf 'hermes: %s\n' "$@" >&2
    exit 1
}

if [ "${1:-}" = --lock ]; then
    # Only versions and hashes are written: where packages come from is each machine's own setting.
    uv pip compile tools/attach/hermes.in --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
        --output-file "$lock" --quiet
    exit 0
fi
[ $# -eq 0 ] || fail "usage: tools/attach/hermes.sh [--lock]"

is_right() {
    "$1" -c 'import sys, venv, ensurepip; raise SystemExit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' >/dev/null 2>&1
}

find_python() {
    for python in ${PYTHON:-.venv/bin/python python3 python3.13 python3.12 python3.11}; do
        if is_right "$python"; then
            printf '%s\n' "$python"
            return
        fi
    done
    fail "Python 3.11, 3.12 or 3.13 with its venv module is needed, and none was found." \
        "Install one, or name it: make attach-hermes PYTHON=/path/to/python"
}

# Runs a command; shows the end of its output only if it fails.
quietly() {
    if ! "$@" >>"$log" 2>&1; then
        tail -n 20 "$log" >&2
        rm -rf "$home"
        if [ -d "$home.old" ]; then mv "$home.old" "$home"; fi
        fail "this step failed: $*" "the end of its output is above, all of it is in $log" \
            "It needs the registry from which pip installs on this machine (pip config list). What was there before is there again."
    fi
}

whole() {
    [ -e "$home/.stamp" ] && [ -z "$(find "$lock" "$0" -newer "$home/.stamp")" ] && "$home/bin/python" -c '' 2>/dev/null
}

mkdir -p .gateways
# Two runs at once must not install into one environment at the same time.
if command -v flock >/dev/null 2>&1; then
    exec 9>"$home.lock"
    flock 9
fi
if whole; then exit 0; fi
python=$(find_python)
: >"$log"
echo "hermes: installing $(sed -n 's/^\(hermes-agent==[0-9.]*\).*/\1/p' "$lock") into $home (about 280 MB)"
rm -rf "$home.old"
if [ -d "$home" ]; then mv "$home" "$home.old"; fi
quietly "$python" -m venv "$home"
quietly "$home/bin/python" -m pip install --disable-pip-version-check --no-input --require-hashes --only-binary :all: -r "$lock"
# Tries in parallel must not write into it.
quietly "$home/bin/python" -m compileall -q "$home/lib"
touch "$home/.stamp"
rm -rf "$log" "$home.old"
