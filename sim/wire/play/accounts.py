"""The configuration with which the gateway reaches an account on a server of ours."""

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import Any, Protocol, runtime_checkable

import msgspec

from trunkline.core.adapters.config import AccountConfig
from trunkline.sim.platforms.base import FakePlatform
from trunkline.sim.wire.server import WireServer

_TOKEN, _BOT_TOKEN, _APP_TOKEN, _APP_SECRET, _WORD = "TOKEN", "BOT_TOKEN", "APP_TOKEN", "APP_SECRET", "VERIFY_TOKEN"
VERIFY = "a word of ours"


class WireAccount(msgspec.Struct, frozen=True, kw_only=True):
    config: AccountConfig
    #: what the secrets of the configuration are
    environ: Mapping[str, str]


@runtime_checkable
class DeliversToAddress(Protocol):
    """A server that can hand messages over at an address, which it asks first. `verify_token`: some ask with a word."""

    async def subscribe(self, account: str, url: str, verify_token: str) -> bool: ...


@runtime_checkable
class CallsGateway(DeliversToAddress, Protocol):
    """A server that hands messages over in no other way."""

    def app_secret(self, account: str) -> str: ...


@runtime_checkable
class HasAppTokens(Protocol):
    """A server with a second token, for the sockets of an app."""

    def app_token(self, account: str) -> str: ...


Section = dict[str, Any]


def _env(name: str) -> dict[str, str]:
    return {"env": name}


#: platform -> the section of an account in the file of `trunkline serve`
_SECTIONS: dict[str, Callable[[Any, str], Section]] = {
    "telegram": lambda server, _: {"token": _env(_TOKEN), "api_root": server.url},
    "discord": lambda server, _: {"token": _env(_TOKEN), "api_root": f"{server.url}/api/v10"},
    "slack": lambda server, _: {
        "bot_token": _env(_BOT_TOKEN),
        "app_token": _env(_APP_TOKEN),
        "api_root": f"{server.url}/api/",
    },
    "matrix": lambda server, account: {
        "token": _env(_TOKEN),
        "homeserver": server.url,
        "user": server.platform.bot_id(account),
    },
    "signal": lambda server, account: {"number": server.token(account, 1), "daemon": server.url},
    "whatsapp": lambda server, account: {
        "token": _env(_TOKEN),
        "api_root": f"{server.url}/v23.0",
        "phone_number_id": server.phone_number_id(account),
        "app_secret": _env(_APP_SECRET),
        "verify_token": _env(_WORD),
    },
}


def account_on(server: WireServer[Any], platform: FakePlatform, account: str) -> WireAccount:
    section = _SECTIONS[platform.channel](server, account)
    token = server.token(account, platform.tokens.newest(account))
    environ = {_TOKEN: token}
    if isinstance(server, HasAppTokens):
        environ = {_BOT_TOKEN: token, _APP_TOKEN: server.app_token(account)}
    if isinstance(server, CallsGateway):
        environ |= {_APP_SECRET: server.app_secret(account), _WORD: VERIFY}
    config = AccountConfig.model_validate({"account": account, platform.channel: section})
    return WireAccount(config=config, environ=environ)


async def subscribe(server: CallsGateway, account: str, url: str) -> None:
    """Let the platform call the gateway at an address. It asks there for a word first."""
    await server.subscribe(account, url, VERIFY)


def transported_keys() -> dict[str, Callable[[str], str]]:
    """Channel -> the form in which its adapter puts the key of a send on the wire."""
    return {
        "discord": partial(_derived, "trunkline.core.adapters.discord.calls", "nonce_of"),
        "matrix": partial(_derived, "trunkline.core.adapters.matrix.adapter", "transaction"),
    }


def _derived(module: str, name: str, key: str) -> str:
    return getattr(import_module(module), name)(key)
