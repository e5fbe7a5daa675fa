"""What to connect to, as text for people: addresses, environment variables, and the accounts of `trunkline serve`."""

from __future__ import annotations

import json
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
    yield "for the file of `trunkline serve`:"
    yield ""
    # Not indented: it is pasted into a file, perhaps below other sections.
    yield from yaml.safe_dump(_sections(found), sort_keys=False, allow_unicode=True).splitlines()
    yield ""
    yield f"places: {', '.join(found['places'][:_SHOWN])}{', ...' if len(found['places']) > _SHOWN else ''}"
    yield f"""try: curl {found["control"]}/steps -d '{_step(found)}'"""
    yield from _webhooks(found)
    yield "Ctrl-C ends it."


def _webhooks(found: Mapping[str, Any]) -> Iterator[str]:
    for account in found["platforms"].get("whatsapp", {"tokens": ()})["tokens"]:
        hook = json.dumps({"url": f"http://127.0.0.1:8420/v1/platforms/whatsapp/{account}", "account": account})
        yield f"whatsapp calls its bot, once it runs: curl {found['control']}/webhooks/whatsapp -d '{hook}'"


def _sections(found: Mapping[str, Any]) -> dict[str, Any]:
    model = found["model"]
    if model is None:
        return {"accounts": list(found["accounts"])}
    agents = {"main": {"openai": {"model": model["name"], "base_url": model["url"]}}}
    return {"agents": agents, "accounts": list(found["accounts"])} if found["accounts"] else {"agents": agents}


#: places in the overview
_SHOWN = 12


def _addresses(found: Mapping[str, Any]) -> Iterator[str]:
    for name, platform in found["platforms"].items():
        given = platform["tokens"].items()
        tokens = ", ".join(value if len(given) == 1 else f"{account}: {value}" for account, value in given)
        yield f"{name:<9} {platform['url']}  {'number' if name == 'signal' else 'token'} {tokens}"
    if found["model"] is not None:
        yield f"{'model':<9} {found['model']['url']}  model {found['model']['name']}, any key"
    yield f"{'control':<9} {found['control']}"


def _step(found: Mapping[str, Any]) -> str:
    people, places = found["people"], [one for one in found["places"] if "@" not in one] or found["places"]
    return f'{{"as": "{people[0]}", "in": "{places[0]}", "say": "hello"}}' if people and places else "{}"
