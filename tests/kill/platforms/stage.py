"""The world of a storm, and the configuration of the server in it."""

import asyncio
import json
import secrets
import socket
from collections.abc import Mapping
from pathlib import Path

import aiohttp

from tests.support.wire.served_accounts import accounts_of
from trunkline.sim.wire.server import WireListener

_WORLD = """\
scenario: 1
title: a storm on several platforms
world:
  people: [ana, ben]
{platforms}
cast: {{agents: {{main: [{{do: [{{silent: true}}]}}]}}}}
script: [{{at: 0s, note: not played}}]
"""
#: seconds for a server to connect
_STUCK = 60.0
#: seconds between the attempts of a message
BACKOFF = (0.5, 2.0, 5.0)
_ROOMS = "{rooms: {ops: {threads: [deploy]}}, latency: 20ms}"
PLATFORMS = ("telegram", "discord", "slack", "matrix")
#: below each platform: who asks where
PLACES = {"ana": "@ana", "ben": "@ben", "cleo": "ops", "dan": "ops/deploy", "eve": "ops"}


def world_of(platforms: tuple[str, ...]) -> str:
    """The scenario file with these platforms."""
    return _WORLD.format(platforms="\n".join(f"  {name}: {_ROOMS}" for name in platforms))


def configured(folder: Path, listeners: Mapping[str, WireListener], model: str) -> Path:
    """The configuration file of the servers."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    _write(folder / "token", secrets.token_urlsafe(24))
    _write(folder / "model.key", "key-of-the-model")
    agent = {"model": "m", "base_url": model, "api_key": {"file": "model.key"}}
    config = {
        "store": "gateway.db",
        "http": {"listen": f"127.0.0.1:{port}", "token_file": "token"},
        # A turn that has ended three processes is given up by default: a storm does that to turns that are sound.
        # A kill during an attempt counts for the backoff, too: by default, a storm ends before the third retry.
        "gateway": {
            "turns": {"max_attempts": 1_000_000},
            "delivery": {"max_attempts": 1_000_000, "backoff": list(BACKOFF)},
        },
        "agents": {"main": {"openai": agent}},
        "accounts": accounts_of(folder, listeners),
        "log": {"level": "warning"},
    }
    path = folder / "gateway.json"
    path.write_text(json.dumps(config))
    return path


def api_of(config: Path) -> tuple[str, str]:
    """The address of the servers' API, and a token of it."""
    listen: str = json.loads(config.read_text())["http"]["listen"]
    return f"http://{listen}", (config.parent / "token").read_text()


async def connected(url: str, token: str) -> None:
    """Wait until the server is connected to every platform."""
    headers = {"Authorization": f"Bearer {token}"}
    async with aiohttp.ClientSession(url, headers=headers) as http, asyncio.timeout(_STUCK):
        while True:
            try:
                async with http.get("/v1/accounts") as answer:
                    found = (await answer.json())["accounts"]
                    if all(one["connected"] for one in found):
                        return
            except aiohttp.ClientError:
                pass
            await asyncio.sleep(0.05)


def _write(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o600)
