"""A call of the message tool: what the agent gave, what its turn knows, and what follows from both. Values only."""

from enum import StrEnum

import msgspec

from trunkline.core.action_catalogue import Action
from trunkline.core.message_parts import MessageParts
from trunkline.core.values import Address, Poll


class ActionCall(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The parameters of a call, typed. Texts are trimmed where they are ids; a blank text counts as missing (None)."""

    action: Action
    #: the channel as the agent wrote it
    channel: str | None = None
    account: str | None = None
    #: of a broadcast
    targets: tuple[str, ...] = ()
    #: the text, without reasoning tags and without lines that name media; of an edit the new text
    message: str = ""
    #: URLs or paths of files: the parameters first, then the lines ``MEDIA:`` of the text
    media: tuple[str, ...] = ()
    #: a file as base64, without the head of a data URL; `parts.mime_type` has its type
    buffer: str | None = None
    reply_to: str | None = None
    thread: str | None = None
    poll: Poll | None = None
    #: buttons, card, effect, sticker, silence, file name, ...; None: nothing of it
    parts: MessageParts | None = None
    #: the message that is meant: an id of the platform, or the intent that `ActionResult` named
    message_id: str | None = None
    emoji: str | None = None
    #: take a reaction away instead of adding it
    remove: bool = False
    dry_run: bool = False
    best_effort: bool = False
    #: the other parameters, as a JSON object with the names of the tool
    fields: str | None = None
    #: names of the parameters that are not blank, for `core.actions.planning.requirements`
    given: frozenset[str] = frozenset()
    #: how many options a poll has, which may be too few for a `Poll`
    options: int = 0


class CallContext(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The facts of a turn whose agent calls the tool. A heartbeat, a cron run or a wake-up has no origin."""

    agent: str = ""
    #: the place that the turn answers to
    origin: Address | None = None
    #: the current conversation as a target, e.g. ``channel:C1``; a call without a target goes there
    target: str | None = None
    #: the current channel; a call without a channel goes there
    channel: str | None = None
    #: the account of the turn on that channel
    account: str | None = None
    #: the platform's id of the message that the turn answers
    message_id: str | None = None


class TargetSource(StrEnum):
    #: the agent named it
    EXPLICIT = "explicit"
    #: it is the current conversation of the turn
    CURRENT = "current"
    #: another parameter stands for it, e.g. `messageId` or `chatGuid`
    ALIAS = "alias"
    #: the action has none
    NONE = "none"


class ChosenTarget(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    #: None: the action has none, or it names a message (`messageId`) whose conversation is meant
    text: str | None = None
    source: TargetSource = TargetSource.NONE
    #: the parameter that stands for it
    alias: str | None = None


class PlannedCall(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A call up to the resolution of its target: parsed, its target and its channel chosen."""

    call: ActionCall
    #: of a broadcast the first one
    channel: str
    target: ChosenTarget = ChosenTarget()
    #: of a broadcast: where `call.targets` are sent to, each target on each channel
    channels: tuple[str, ...] = ()

    @property
    def action(self) -> Action:
        return self.call.action

    @property
    def dry_run(self) -> bool:
        """Everything is checked, and nothing is done."""
        return self.call.dry_run

    @property
    def sends(self) -> "tuple[PlannedCall, ...]":
        """Of a broadcast: one send for each channel and target, in order. Each is checked and judged by itself."""
        call = msgspec.structs.replace(self.call, action=Action.SEND, targets=())
        return tuple(
            PlannedCall(call=call, channel=channel, target=ChosenTarget(text=target, source=TargetSource.EXPLICIT))
            for channel in self.channels
            for target in self.call.targets
        )
