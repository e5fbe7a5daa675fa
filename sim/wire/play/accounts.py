"""The configuration with which the gateway reaches an account on a server of ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import Any

import msgspec

from trunkline.core.adapters.config import AccountConfig
from trunkline.sim.platforms.base import FakePlatform
from trunkline.sim.wire.server import WireServer

#: names of the secrets of an account
_TOKEN = "TOKEN"


class WireAccount(msgspec.Struct, frozen=True, kw_only=True):
    """An account on the wire."""

    config: AccountConfig
    #: what the secrets of the configuration are
    environ: Mapping[str, str]


Section = dict[str, Any]
_ENV = {"env": _TOKEN}


def _telegram(server: WireServer[Any], account: str) -> Section:
    return {"token": _ENV, "api_root": server.url}


#: platform -> the section of an account in the file of `trunkline serve`
_SECTIONS: dict[str, Callable[[WireServer[Any], str], Section]] = {"telegram": _telegram}


def account_on(server: WireServer[Any], platform: FakePlatform, account: str) -> WireAccount:
    """An account with its newest token."""
    section = _SECTIONS[platform.channel](server, account)
    environ = {_TOKEN: server.token(account, platform.tokens.newest(account))}
    config = AccountConfig.model_validate({"account": account, platform.channel: section})
    return WireAccount(config=config, environ=environ)


def transported_keys() -> dict[str, Callable[[str], str]]:
    """Channel -> the form in which its adapter puts the key of a send on the wire."""
    return {
        "discord": partial(_derived, "trunkline.core.adapters.discord.calls", "nonce_of"),
    }


def _derived(module: str, name: str, key: str) -> str:
    return getattr(import_module(module), name)(key)
