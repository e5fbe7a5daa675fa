#!/bin/sh
# Re-pins requirements.lock: one file for every supported Python and platform, with a hash for each artefact.
# Its first part is what `make demo` installs: no second file has versions.
# Only versions and hashes are written: where packages come from is each machine's own setting.
set -eu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

compile() {
    uv pip compile pyproject.toml --universal --python-version 3.11 --no-header --no-annotate --quiet "$@"
}

# Prints the packages of $work/all that are listed in $work/demo, or those that are not: $1 is 1 or 0.
pick() {
    awk -v listed="$1" '
        { name = $1; sub(/==.*/, "", name) }
        FNR == NR { demo[name]; next }
        /^[a-z0-9]/ { picked = ((name in demo) == listed) }
        picked' "$work/demo" "$work/all"
}

compile --extra dev --extra http --extra openai --extra web --extra telegram --extra discord --extra slack --extra matrix \
    --extra signal --extra whatsapp --extra fakes --generate-hashes --output-file "$work/all"
# The build backend makes the editable install.
echo 'hatchling' | compile - --extra http --extra fakes --constraint "$work/all" --output-file "$work/demo"
{
    echo '# Part 1: what `make demo` installs: the base dependencies, the extras http and fakes, and the build backend.'
    pick 1
    echo '# Part 2: what `make env` and `make test` add.'
    pick 0
} >"$work/parted"
cat "$work/parted" >requirements.lock
