"""The models of a scenario's `cast.hooks`: user code that runs before messages are stored, and after they end."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from trunkline.core.config import Duration, Model
from trunkline.core.values import IntentKind
from trunkline.sim.scenario.model.nonsense import Nonsense


class HookWhen(Model):
    """The messages that a hook acts on. Every field given must match."""

    text: str | None = None
    """The text, as changed by earlier hooks; `*` stands for anything."""
    place: str | None = Field(default=None, validation_alias="in")
    """The place the message goes to."""
    kind: IntentKind | None = None
    """The kind of message."""


class Hook(Model):
    """A hook. It does at most one of `change`, `cancel`, `fail` and `nonsense`; with none of them it only observes."""

    on: Literal["sending", "sent"] = "sending"
    """`sending`: called for each message before it is stored. `sent`: called with the outcome of each message."""
    priority: int = 0
    """`sending` hooks with a higher priority run first; equal ones run in the order of the file."""
    required: bool = False
    """`true`: the message is cancelled when the hook fails. `false`: the message continues without the hook."""
    when: HookWhen = HookWhen()
    """The messages it acts on; by default all."""
    takes: Duration | None = None
    """How long it takes. Longer than `gateway.delivery.hook_timeout` counts as a failure."""
    change: str | None = None
    """Replace the text: a template with `{text}` and `{original}`. With an empty text nothing is sent."""
    cancel: str | None = None
    """Cancel the message, for this reason."""
    fail: str | None = None
    """Raise an error with this text."""
    nonsense: Literal[True, Nonsense] | None = None
    """`true`: return a value that is not a valid answer. Or misbehave in one of the ways of an agent's `nonsense`."""
