"""Generated from the adapters of real platforms: what is promised on each."""

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tools.doc_text import ROOT, table
from trunkline.core.action_catalogue import Action
from trunkline.core.adapters.config import PLATFORMS, AccountConfig
from trunkline.core.adapters.factory import make_adapter
from trunkline.core.adapters.port import AdapterHost, PlatformAdapter, TakesWebhooks
from trunkline.core.bindings.port import BindsConversations
from trunkline.core.env import system_env
from trunkline.core.events import EventLog
from trunkline.core.values import Capabilities, Capability, Idempotency

_SECRET = {"env": "SECRET"}
#: the smallest configuration of each account
SMALLEST: dict[str, dict[str, Any]] = {
    "telegram": {"token": _SECRET},
    "discord": {"token": _SECRET},
    "slack": {"bot_token": _SECRET, "app_token": _SECRET},
    "matrix": {"homeserver": "https://matrix.example.org", "user": "@bot:example.org", "token": _SECRET},
    "signal": {"number": "+15550001111"},
    "whatsapp": {"phone_number_id": "1", "token": _SECRET, "app_secret": _SECRET, "verify_token": _SECRET},
}


class _NoCursors:
    async def load(self, name: str) -> str | None:
        return None

    async def save(self, name: str, value: str) -> None:
        raise NotImplementedError


def adapter_of(platform: str) -> PlatformAdapter:
    """The adapter of a platform, which connects to nothing."""
    env = system_env()
    host = AdapterHost(
        account="default",
        env=env,
        cursors=_NoCursors(),
        events=EventLog(env.now).recorder("gateway"),
        folder=Path(),
        environ={"SECRET": "7000001:AAsecret-of-an-example"},
    )
    return make_adapter(AccountConfig.model_validate({platform: SMALLEST[platform]}), host)


def built() -> list[str]:
    """The platforms that have an adapter."""
    return [name for name in PLATFORMS if find_spec(f"trunkline.core.adapters.{name}.adapter") is not None]


def _key(can: Capabilities) -> str:
    if can.idempotency is Idempotency.KEY:
        return "key" if can.key_seconds is None else f"key, for {can.key_seconds:g} s"
    return str(can.idempotency)


def _in_doubt(can: Capabilities) -> str:
    return {
        Idempotency.KEY: "sent again under its key" + ("" if can.key_seconds is None else ", parked when that is old"),
        Idempotency.LOOKUP: "looked up",
        Idempotency.NONE: "parked for an operator",
    }[can.idempotency]


def _yes(found: object) -> str:
    return "yes" if found else "no"


def _has(*actions: Action) -> Callable[[Any], str]:
    return lambda adapter: _yes(all(one in adapter.capabilities.actions for one in actions))


def _can(capability: Capability) -> Callable[[Any], str]:
    return lambda adapter: _yes(capability in adapter.capabilities.can)


#: what the table says of each adapter
_ROWS: dict[str, Callable[[Any], str]] = {
    "recognises a repeated send": lambda one: _key(one.capabilities),
    "an answer without a response": lambda one: _in_doubt(one.capabilities),
    "longest text of a message": lambda one: str(one.capabilities.text_limit),
    "threads": _can(Capability.THREADS),
    "conversations can be bound": lambda one: _yes(isinstance(one, BindsConversations)),
    "files": _can(Capability.MEDIA),
    "polls": lambda one: _yes(Capability.POLL in one.capabilities.can or Action.POLL in one.capabilities.actions),
    "buttons": _can(Capability.BUTTONS),
    "edits": _has(Action.EDIT),
    "deletions": _has(Action.DELETE),
    "reactions": _has(Action.REACT),
    "pins": _has(Action.PIN),
    "by webhook": lambda one: _yes(isinstance(one, TakesWebhooks)),
}


def promises_table() -> str:
    """What is promised on each platform, as its adapter declares it."""
    names = built()
    adapters = [adapter_of(name) for name in names]

    def rows() -> Iterator[tuple[str, ...]]:
        for what, said in _ROWS.items():
            yield what, *(said(adapter) for adapter in adapters)

    return table(("", *(_linked(name) for name in names)), rows())


def _linked(name: str) -> str:
    page = f"platforms/{name}.md"
    return f"[{name}]({page})" if (ROOT / "docs" / page).is_file() else name
