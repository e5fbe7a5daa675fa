#!/bin/sh
# Pins requirements.lock anew: one file for every supported Python and platform, a hash for each artefact.
# Only versions and hashes are written: where packages come from is the business of each machine's own settings.
set -eu

uv pip compile pyproject.toml --extra dev --extra web --universal --python-version 3.11 --upgrade \
    --generate-hashes --no-header --no-annotate --output-file requirements.lock --quiet
