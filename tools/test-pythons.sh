#!/bin/sh
# Runs the determinism tests on every supported Python found here: on PATH, or among pyenv's versions.
# Names the versions found and not found. Fails if the tests fail on any of them, or if none was found.
set -eu

# True when the command $1 runs and is Python $2.
runs() {
    [ "$("$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)" = "$2" ]
}

# Prints a command that runs Python $1.
find_python() {
    if runs "python$1" "$1"; then
        echo "python$1"
    elif command -v pyenv >/dev/null 2>&1; then
        for candidate in "$(pyenv root)/versions/$1".*/bin/python; do
            if runs "$candidate" "$1"; then
                echo "$candidate"
                return
            fi
        done
    fi
}

found= missing= failed=
for version in 3.11 3.12 3.13 3.14; do
    python=$(find_python "$version")
    if [ -z "$python" ]; then
        missing="$missing $version"
        continue
    fi
    found="$found $version"
    echo "== Python $version"
    sh tools/env.sh ".venvs/$version" "$python" && ".venvs/$version/bin/python" -m pytest -q --all tests/determinism ||
        failed="$failed $version"
done

echo "test-pythons: found:${found:- none}; not found:${missing:- none}; failed:${failed:- none}"
[ -n "$found" ] && [ -z "$failed" ]
