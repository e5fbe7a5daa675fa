"""Actions as every channel has them: target, kind, and whether the cross-context policy guards them."""

from enum import StrEnum

import msgspec

from trunkline.core.action_names import Action


class TargetMode(StrEnum):
    """Where an action's target goes: to `to`, to `channelId`, or the action has none."""

    TO = "to"
    CHANNEL_ID = "channelId"
    NONE = "none"


class ActionKind(StrEnum):
    """How an action is carried out."""

    #: a message of its own, through hooks, chunks, queue and mirror
    MESSAGE = "message"
    #: a change of something that exists, as an intent through the queue
    CHANGE = "change"
    #: a question to the platform: answered at once, never stored
    QUERY = "query"


class Feature(StrEnum):
    """What some channels can put into a message; only then the tool's schema has the parameter."""

    BUTTONS = "buttons"
    CARDS = "cards"
    COMPONENTS = "components"
    EFFECTS = "effects"
    SILENT = "silent"
    #: a poll may close after some hours
    POLL_HOURS = "poll-hours"
    #: a poll may close after some seconds
    POLL_SECONDS = "poll-seconds"
    #: a poll may say whether it shows who voted for what
    ANONYMOUS_POLLS = "anonymous-polls"


class ActionSpec(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The declaration of an action."""

    action: Action
    kind: ActionKind
    target: TargetMode = TargetMode.TO
    #: parameters that name the target instead, e.g. ``messageId``
    aliases: tuple[str, ...] = ()
    #: the cross-context policy judges it
    guarded: bool = False
    #: doing it twice is the same as doing it once, so an attempt in doubt is repeated; else it is parked
    repeatable: bool = True
    #: it names a message (`messageId`)
    of_message: bool = False

    @property
    def requires_target(self) -> bool:
        return self.target is not TargetMode.NONE
