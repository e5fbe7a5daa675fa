"""The models of a scenario's `cast.hooks`: user code that runs before messages are stored, and after they end."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from trunkline.core.config import Duration, Model
from trunkline.core.config.base import Flag
from trunkline.core.values import IntentKind
from trunkline.sim.scenario.model.rules import Nonsense
from trunkline.sim.scenario.shorthand import as_list


class HookWhen(Model):
    """The messages that a hook acts on. Every field given must match."""

    text: str | None = None
    """The text, as changed by earlier hooks; `*` stands for anything."""
    place: str | None = Field(default=None, validation_alias="in")
    """The place the message goes to."""
    kind: IntentKind | None = None
    """The kind of message."""


class Hook(Model):
    """A hook. It changes messages, or does one of `cancel`, `fail` and `nonsense`; with neither it only observes."""

    on: Literal["sending", "sent"] = "sending"
    """`sending`: called for each message before it is stored. `sent`: called with the outcome of each message."""
    priority: int = 0
    """`sending` hooks with a higher priority run first; equal ones run in the order of the file."""
    required: Flag = False
    """`true`: the message is cancelled when the hook fails. `false`: the message continues without the hook."""
    when: HookWhen = HookWhen()
    """The messages it acts on; by default all."""
    takes: Duration | None = None
    """How long it takes. Longer than `gateway.delivery.hook_timeout` counts as a failure."""
    change: str | None = None
    """Replace the text: a template with `{text}` and `{original}`. With an empty text nothing is sent."""
    media: Annotated[tuple[str, ...] | None, BeforeValidator(as_list, json_schema_input_type=str | list[str])] = None
    """Replace the files, by URL or path; `[]`: none."""
    to: str | None = None
    """Send it to another place instead."""
    target: str | None = None
    """Send it to another target instead: a text as an agent writes it, on the same platform."""
    quote: str | None = None
    """Quote the message of this `say` instead, by its id; an empty text: none."""
    cancel: str | None = None
    """Cancel the message, for this reason."""
    fail: str | None = None
    """Raise an error with this text."""
    nonsense: Literal[True, Nonsense] | None = None
    """`true`: return a value that is not a valid answer. Or misbehave in one of the ways of an agent's `nonsense`."""
    plugin: str | None = None
    """Do what a hook of a plug-in does, by its name, such as `acme.polite`."""
    may_miss: Literal[True] | None = None
    """Whether a run may have no message for it."""
