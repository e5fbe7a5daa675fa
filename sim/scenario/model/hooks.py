"""The models of a scenario's `cast.hooks`: what users' own code does to messages, and when it hears of their ends."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from trunkline.core.config import Duration, Model
from trunkline.core.values import IntentKind


class HookWhen(Model):
    """The messages that a hook does something to; all that is given must hold."""

    text: str | None = None
    """The text, as the hooks before have left it; `*` stands for anything."""
    place: str | None = Field(default=None, validation_alias="in")
    """Where it goes."""
    kind: IntentKind | None = None
    """Which path of the gateway says it."""


class Hook(Model):
    """A hook. It does at most one of `change`, `cancel`, `fail` and `nonsense`; without any it only looks on."""

    on: Literal["sending", "sent"] = "sending"
    """`sending`: it sees each message before it is stored. `sent`: it is told what became of it."""
    priority: int = 0
    """Of the `sending` hooks, those with more come first; equal ones come in the order of the file."""
    required: bool = False
    """When it fails, the message is cancelled; otherwise it goes on without the hook."""
    when: HookWhen = HookWhen()
    """Not given: every message."""
    takes: Duration | None = None
    """It takes this long first. After `gateway.delivery.hook_timeout` it has failed."""
    change: str | None = None
    """This text instead: a template with `{text}` and `{original}`. An empty one leaves nothing to be sent."""
    cancel: str | None = None
    """The message is not sent, and this is why."""
    fail: str | None = None
    """It raises an error with this text."""
    nonsense: Literal[True] | None = None
    """It answers something that is no answer."""
