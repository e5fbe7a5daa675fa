"""The slots of gateway profiles: ``${telegram.url}`` and the like, and what fills them for an account on the wire."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from trunkline.core.config.files.problems import Path

SLOT = re.compile(r"(?<!\$)\$\{([A-Za-z_.]+)\}")

#: slots of every profile
COMMON: Mapping[str, str] = {
    "home": "the gateway's folder, empty before its first start",
    "install": "the folder in which the gateway is installed",
    "python": "the Python that runs Trunkline",
    "attach": "the folder of `trunkline.sim.attach`, which has the toy gateway",
    "port": "a free port on this machine",
    "model.url": "the model as OpenAI's clients take it, `http://127.0.0.1:40001/v1`",
    "model.root": "the same without `/v1`",
}
#: slots that need no gateway: those of programs and of the command that prints a version
OF_INSTALL = ("install", "python", "attach")

_URL = "the address of the fake platform, `http://127.0.0.1:40002`"
_TOKEN = "the token of the bot"
_BOT = "the id of the bot"
#: platform -> its slots, without the name of the platform
OF_PLATFORM: Mapping[str, Mapping[str, str]] = {
    "telegram": {"url": _URL, "token": _TOKEN, "bot": _BOT},
    "discord": {
        "url": _URL,
        "token": _TOKEN,
        "bot": _BOT,
        "gateway": "the address of the gateway socket, `ws://...`",
        "application": "the id of the bot's application",
    },
    "slack": {
        "url": _URL,
        "token": "the bot token, `xoxb-...`",
        "app_token": "the app-level token of Socket Mode, `xapp-...`",
        "bot": _BOT,
    },
    "matrix": {"url": _URL, "token": "the access token", "bot": "the bot's user id, `@name:server`"},
    "signal": {"url": _URL, "token": "the number of the account", "bot": _BOT},
    "whatsapp": {
        "url": _URL,
        "token": _TOKEN,
        "bot": _BOT,
        "number": "the id of the phone number",
        "app_secret": "the secret that signs webhooks",
    },
}

_MORE: Mapping[str, Mapping[str, Callable[[Any, str], str]]] = {
    "discord": {
        "gateway": lambda server, _: server.gateway_url,
        "application": lambda server, account: server.application_id(account),
    },
    "slack": {"app_token": lambda server, account: server.app_token(account)},
    "whatsapp": {
        "number": lambda server, account: server.phone_number_id(account),
        "app_secret": lambda server, account: server.app_secret(account),
    },
}


def platform_values(server: Any, account: str) -> dict[str, str]:
    """Slot, with the platform's name -> what fills it. `server`: a `WireServer` that listens."""
    platform = server.platform
    values = {
        "url": server.url,
        "token": server.token(account, platform.tokens.newest(account)),
        "bot": platform.bot_id(account),
    }
    values |= {name: make(server, account) for name, make in _MORE.get(platform.channel, {}).items()}
    return {f"{platform.channel}.{name}": value for name, value in values.items()}


def known_slots(platform: str | None = None) -> tuple[str, ...]:
    """The slots that texts of a profile may have; those below a platform may have those of the platform too."""
    own = OF_PLATFORM.get(platform or "", {})
    return (*COMMON, *(f"{platform}.{name}" for name in own))


def slots_in(tree: object, at: Path = ()) -> Iterator[tuple[Path, str]]:
    """The slots in all texts of a tree, each with the path of its text."""
    if isinstance(tree, str):
        yield from ((at, found) for found in SLOT.findall(tree))
    elif isinstance(tree, dict):
        for name, value in cast("dict[str, object]", tree).items():
            yield from slots_in(value, (*at, name))
    elif isinstance(tree, list | tuple):
        for index, value in enumerate(cast("list[object]", tree)):
            yield from slots_in(value, (*at, index))
