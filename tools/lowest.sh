#!/bin/sh
# Runs Trunkline with the oldest versions that pyproject.toml allows: the server, a scenario, and each platform on the wire.
# requirements.lock has the newest ones, with which the tests run. Needs uv on PATH.
#
#   tools/lowest.sh [PYTHON]
set -eu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bin=$work/env/bin

uv pip compile pyproject.toml --extra all --resolution lowest-direct --python "${1:-python3}" --no-header --no-annotate --quiet \
    --output-file "$work/lowest.txt"
"${1:-python3}" -m venv "$work/env"
"$bin/pip" install --disable-pip-version-check --quiet --no-compile --requirement "$work/lowest.txt" hatchling
"$bin/pip" install --disable-pip-version-check --quiet --no-compile --no-deps --no-build-isolation .

cd "$work"
export HOME="$work" XDG_STATE_HOME="$work/state"
"$bin/trunkline" run scenarios/tour
for scenario in telegram discord slack matrix signal whatsapp; do
    "$bin/trunkline" new "$scenario.yaml" --yes --platform "$scenario" >/dev/null
    "$bin/trunkline" run "$scenario.yaml" --wire
done
# SIGTERM ends a server in order, with the code 0.
"$bin/trunkline" serve --port 0 >serve.out 2>serve.err &
server=$!
trap 'kill "$server" 2>/dev/null || true; rm -rf "$work"' EXIT
waited=0
until grep -q '^Trunkline serves' serve.out; do
    waited=$((waited + 1))
    if [ "$waited" -gt 60 ] || ! kill -0 "$server" 2>/dev/null; then
        cat serve.out serve.err >&2
        exit 1
    fi
    sleep 1
done
url=$(sed -n 's/^Trunkline serves //p' serve.out)
"$bin/trunkline" queue list --url "$url"
kill "$server"
wait "$server"
echo "lowest: all of it runs with $(grep -c == "$work/lowest.txt") packages"
