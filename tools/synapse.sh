#!/bin/sh
# Installs Synapse, a real Matrix homeserver, for the tests of tests/matrix: into .synapse, from tests/matrix/synapse.lock.
#
#   tools/synapse.sh                     does nothing if .synapse is newer than the lock file
#   tools/synapse.sh --lock VERSION      pins another version (needs uv)
#
# It shares no environment with ours, because it needs other versions. PYTHON names another interpreter than that of .venv.
# The tests start and stop the server; see tests/support/synapse.
set -eu
cd "$(dirname "$0")/.."
lock=tests/matrix/synapse.lock
venv=.synapse
log=$venv.log

fail() {
    printf 'synapse: %s\n' "$@" >&2
    exit 1
}

if [ "${1:-}" = --lock ]; then
    [ $# -eq 2 ] || fail "usage: tools/synapse.sh --lock VERSION"
    # Only versions and hashes are written: where packages come from is each machine's own setting.
    printf 'matrix-synapse==%s\n' "$2" | uv pip compile - --universal --python-version 3.11 --generate-hashes --no-header \
        --no-annotate --output-file "$lock" --quiet
    exit 0
fi

python=${PYTHON:-.venv/bin/python}
command -v "$python" >/dev/null 2>&1 || python=python3

# Runs a command; shows its output only if it fails.
quietly() {
    if ! "$@" >>"$log" 2>&1; then
        cat "$log" >&2
        fail "this step failed: $*" "its output is above, and in $log"
    fi
}

# Two runs at once must not install into one environment at the same time.
if command -v flock >/dev/null 2>&1; then
    exec 9>"$venv.lock"
    flock 9
fi
if [ -e "$venv/.stamp" ] && [ -z "$(find "$lock" -newer "$venv/.stamp")" ]; then exit 0; fi
: >"$log"
echo "synapse: installing $lock into $venv"
rm -rf "$venv"
quietly "$python" -m venv "$venv"
quietly "$venv/bin/python" -m pip install --disable-pip-version-check --no-input --require-hashes --only-binary :all: -r "$lock"
touch "$venv/.stamp"
rm -f "$log"
