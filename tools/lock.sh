#!/bin/sh
# Re-pins requirements.lock: one file for every supported Python and platform, with a hash for each artefact.
# It has three parts, each of which is installed on top of the earlier ones: no second file has versions.
# Only versions and hashes are written: where packages come from is each machine's own setting.
set -eu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Resolves the project with the options $2 and later into $work/$1.
compile() {
    name=$1
    shift
    uv pip compile pyproject.toml --universal --python-version 3.11 --no-header --no-annotate --quiet \
        --output-file "$work/$name" "$@"
}

# Prints the packages of $work/$1 that are not in $work/$2, with the versions and hashes of $work/env.
part() {
    awk '
        { name = $1; sub(/==.*/, "", name) }
        FILENAME == ARGV[1] { wanted[name]; next }
        FILENAME == ARGV[2] { delete wanted[name]; next }
        /^[a-z0-9]/ { picked = name in wanted }
        picked' "$work/$1" "$work/$2" - <"$work/env"
}

extras="--extra app --extra http --extra openai --extra telegram --extra discord --extra slack --extra matrix --extra signal
    --extra whatsapp --extra fakes --extra postgres"
: >"$work/nothing"
compile env --extra dev $extras --generate-hashes
# The build backend makes the editable install.
echo 'hatchling' | compile install - $extras --constraint "$work/env"
echo 'hatchling' | compile demo - --extra app --constraint "$work/env"
{
    echo '# Part 1: what `make demo` installs: the base, the extra app, and the build backend.'
    part demo nothing
    echo '# Part 2: what `make install` adds: the extras, without dev.'
    part install demo
    echo '# Part 3: what `make env` and `make test` add: the extra dev.'
    part env install
} >"$work/parted"
cat "$work/parted" >requirements.lock
