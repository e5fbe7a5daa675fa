"""What to connect to, as text for people: addresses, environment variables, and the accounts of `trunkline serve`."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

import yaml


def settings_lines(found: Mapping[str, Any]) -> Iterator[str]:
    """The lines, from what `GET /` of the control interface answers."""
    yield from _addresses(found)
    yield ""
    yield "environment:"
    for name, value in found["environment"].items():
        yield f"  export {name}={shlex.quote(value)}"
    yield ""
    yield "accounts for the file of `trunkline serve`:"
    section = {"accounts": list(found["accounts"])}
    yield from (f"  {line}" for line in yaml.safe_dump(section, sort_keys=False, allow_unicode=True).splitlines())
    yield ""
    yield f"places: {', '.join(found['places'][:_SHOWN])}{', ...' if len(found['places']) > _SHOWN else ''}"
    yield f"""try: curl {found["control"]}/steps -d '{_step(found)}'"""
    yield "Ctrl-C ends it."


#: places in the overview
_SHOWN = 12


def _addresses(found: Mapping[str, Any]) -> Iterator[str]:
    for name, platform in found["platforms"].items():
        given = platform["tokens"].items()
        tokens = ", ".join(value if len(given) == 1 else f"{account}: {value}" for account, value in given)
        yield f"{name:<9} {platform['url']}  token {tokens}"
    if found["model"] is not None:
        yield f"{'model':<9} {found['model']['url']}  model {found['model']['name']}, any key"
    yield f"{'control':<9} {found['control']}"


def _step(found: Mapping[str, Any]) -> str:
    people, places = found["people"], [one for one in found["places"] if "@" not in one] or found["places"]
    return f'{{"as": "{people[0]}", "in": "{places[0]}", "say": "hello"}}' if people and places else "{}"
