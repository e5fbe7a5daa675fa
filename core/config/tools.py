"""Configuration of the agents' tools: what the message tool may do, and where it may write."""

from typing import Annotated, Literal, TypeVar

from pydantic import Field, field_validator

from trunkline.core.action_catalogue import Action
from trunkline.core.channels.listed_place import listed_place
from trunkline.core.config.base import Flag, Model
from trunkline.core.errors import TargetError


class MarkerConfig(Model):
    """The mark that says where a message from another conversation comes from."""

    enabled: Flag = True
    """Mark what an agent sends to another platform. Off: nothing is marked that comes from a conversation."""
    within_provider: Flag = False
    """Also mark what it sends to another conversation of the same platform."""
    prefix: str = "[from {channel}] "
    """Text before the message. Every `{channel}` becomes the name of the place that the message comes from. Where a
    platform shows embeds, an embed has the mark instead, and the text stays as it is."""
    suffix: str = ""
    """Text after the message, like `prefix`."""


class CrossContextConfig(Model):
    """Where a turn that works in a conversation may write besides that conversation."""

    allow_within_provider: Flag = True
    """To other conversations of the same platform."""
    allow_across_providers: Flag = False
    """To other platforms."""
    marker: MarkerConfig = MarkerConfig()


class WithoutOriginConfig(Model):
    """Where a turn may write that works in no conversation: a heartbeat, an entry of the schedule, a wake-up."""

    reach: Literal["any", "last", "none"] = "any"
    """Everywhere, only to the conversation in which somebody wrote to the agent last, or nowhere."""
    targets: tuple[str, ...] = ()
    """Where it may write in any case: a platform (`whatsapp`), or a target on it (`slack:channel:C1`)."""
    marked: Flag = True
    """Mark what it sends with where it comes from, e.g. `[from heartbeat] `, in the form of `cross_context.marker`."""

    @field_validator("targets")
    @classmethod
    def _readable(cls, targets: tuple[str, ...]) -> tuple[str, ...]:
        for entry in targets:
            try:
                listed_place(entry)
            except TargetError as error:
                raise ValueError(error.facts) from error
        return targets


class BroadcastConfig(Model):
    """Sends to several targets at once."""

    enabled: Flag = True
    """Whether agents may broadcast. Each target is still decided on by itself."""
    max_sends: Annotated[int, Field(gt=0)] = 100
    """Maximum number of sends of one broadcast: its targets times its channels."""


class MessageToolConfig(Model):
    """The message tool: which actions an agent has, and what may cross from one conversation into another."""

    allow_cross_context_send: Flag = False
    """Formerly: allow everything that leaves a conversation."""
    cross_context: CrossContextConfig = CrossContextConfig()
    without_origin: WithoutOriginConfig = WithoutOriginConfig()
    broadcast: BroadcastConfig = BroadcastConfig()
    max_attachment: Annotated[int, Field(gt=0)] = 8 * 1024 * 1024
    """Maximum size of a file that a call carries itself (`buffer`), in bytes."""
    disabled_actions: tuple[Action, ...] = ()
    """Actions that agents may not use, e.g. `delete`."""


class ToolsConfig(Model):
    """Settings of the agents' tools."""

    message: MessageToolConfig = MessageToolConfig()


_M = TypeVar("_M", bound=Model)


def merged(base: _M, over: _M) -> _M:
    """`base` with the fields that `over` sets, at every depth."""
    changes = dict[str, object]()
    for name in over.model_fields_set:
        below, own = getattr(base, name), getattr(over, name)
        changes[name] = merged(below, own) if isinstance(own, Model) and isinstance(below, Model) else own
    return base.model_copy(update=changes)
