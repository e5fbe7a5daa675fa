#!/bin/sh
# Re-pins requirements.lock: one file for every supported Python and platform, with a hash for each artefact.
# Only versions and hashes are written: where packages come from is each machine's own setting.
set -eu

uv pip compile pyproject.toml --extra dev --extra http --extra openai --extra web --extra telegram --extra discord --extra slack --extra matrix \
    --extra signal --extra whatsapp --extra fakes --universal --python-version 3.11 --upgrade \
    --generate-hashes --no-header --no-annotate --output-file requirements.lock --quiet
