"""The folder of a gateway: its files and environment, with the slots of its profile, ``${telegram.url}``, filled in."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import msgspec

from trunkline.core.config.files import problems
from trunkline.core.errors import UsageError
from trunkline.sim.attach.profile import GatewayProfile, ProfileFile

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


def slots_in(tree: object, at: problems.Path) -> Iterator[tuple[problems.Path, str]]:
    """The slots in all texts of a tree, each with the path of its text."""
    if isinstance(tree, str):
        yield from ((at, found) for found in SLOT.findall(tree))
    elif isinstance(tree, dict):
        for name, value in cast("dict[str, object]", tree).items():
            yield from slots_in(value, (*at, name))
    elif isinstance(tree, list | tuple):
        for index, value in enumerate(cast("list[object]", tree)):
            yield from slots_in(value, (*at, index))


class RenderedGateway(msgspec.Struct, frozen=True, kw_only=True):
    """A profile with its slots filled: all that is needed to start a gateway."""

    command: tuple[str, ...]
    environment: dict[str, str]
    #: path below the folder -> text
    files: dict[str, str]
    #: commands that are run in the folder before the first start
    prepare: tuple[tuple[str, ...], ...] = ()


def render(
    profile: GatewayProfile, platforms: tuple[str, ...], values: Mapping[str, str], path: str = ""
) -> RenderedGateway:
    """Fill a profile in. `values`: by slot, ``telegram.url``. `path`: where programs are looked for, unless it says so.

    Raises `UsageError` for a slot that nothing fills.
    """
    environment = dict(profile.environment)
    trees = {name: file.content for name, file in profile.files.items()}
    for platform in platforms:
        own = profile.platforms[platform]
        environment |= own.environment
        for name, part in own.files.items():
            trees[name] = merged(trees.get(name, ""), part)
    files = {name: _written(profile.files.get(name), filled(tree, values)) for name, tree in trees.items()}
    return RenderedGateway(
        command=_command(profile.command, values),
        prepare=tuple(_command(command, values) for command in profile.prepare),
        environment=({"PATH": path} if path else {})
        | {name: str(value) for name, value in filled(environment, values).items()},
        files=files,
    )


def _command(words: tuple[str, ...], values: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(str(word) for word in filled(list(words), values))


def merged(tree: Any, part: Any) -> Any:
    """Two trees in one: mappings are joined, lists and texts appended, anything else is replaced."""
    if isinstance(tree, dict) and isinstance(part, dict):
        both = dict(cast("dict[str, Any]", tree))
        for key, value in cast("dict[str, Any]", part).items():
            both[key] = merged(both[key], value) if key in both else value
        return both
    if isinstance(tree, list) and isinstance(part, list):
        return [*cast("list[Any]", tree), *cast("list[Any]", part)]
    return tree + part if isinstance(tree, str) and isinstance(part, str) else part


def filled(tree: Any, values: Mapping[str, str]) -> Any:
    """A tree with its slots filled in. A text that is nothing but ``${port}`` becomes a number. Raises `UsageError`."""
    if isinstance(tree, dict):
        return {key: filled(value, values) for key, value in cast("dict[str, Any]", tree).items()}
    if isinstance(tree, list):
        return [filled(item, values) for item in cast("list[Any]", tree)]
    if not isinstance(tree, str):
        return tree
    if tree == "${port}":
        return int(values["port"])

    def value(found: re.Match[str]) -> str:
        if found[1] not in values:
            raise UsageError(f"the profile has ${{{found[1]}}}, which is unknown; there are: {', '.join(values)}")
        return values[found[1]]

    return SLOT.sub(value, tree).replace("$${", "${")


def _written(file: ProfileFile | None, tree: Any) -> str:
    if file is None or file.format == "text":
        return str(tree)
    if file.format == "json":
        return json.dumps(tree, indent=1) + "\n"
    import yaml

    return yaml.safe_dump(tree, sort_keys=False)


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
