"""Which actions of the message tool a platform has, and what each needs there. Each platform's module has its table.

What an action needs: ``messageId`` is required; of ``text|message`` one is; ``pollOption>=2`` has at least two values.
"""

from collections.abc import Mapping

import msgspec

from trunkline.core.action_catalogue import Action, ActionKind
from trunkline.core.actions.features import Feature

#: the error of platforms with a handler of their own
NO_HANDLER = "Action {action} is not supported for provider {channel}."
VOTE = "pollOption|pollOptionIndex|pollOptionIndexes|pollOptionId|pollOptionIds"
_FILE = "media|path|filePath|buffer"


class ChannelAction(msgspec.Struct, frozen=True, kw_only=True):
    #: required parameters; the first that is missing is reported
    needs: tuple[str, ...] = ()
    #: the switch in the platform's configuration; None: it is always on
    gate: str | None = None
    #: whether the gate is on unless the configuration says otherwise
    on: bool = True
    #: the switch, off by default, that extends it to other people's messages in rooms; None: to own ones only
    of_others: str | None = None
    #: required parameter -> its name in the error, if that is another
    labels: Mapping[str, str] = {}
    #: required parameter -> the whole error
    errors: Mapping[str, str] = {}
    #: the whole error with all missing parameters, joined in place of ``{}``
    all_missing: str = ""
    group_only: bool = False

    def missing(self, lacking: tuple[str, ...]) -> str:
        first = lacking[0]
        if self.all_missing and first in self.needs:
            labels = (self.labels.get(need, need) for need in lacking if need in self.needs)
            return self.all_missing.replace("{}", ", ".join(labels))
        if first in self.errors:
            return self.errors[first]
        return f"{self.labels.get(first, first.split('|')[0])} required"


class PollFeatures(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The fields of a platform's polls besides question and options."""

    #: close after some hours
    hours: bool = False
    #: close after some seconds
    seconds: bool = False
    #: hide, or show, who voted for what
    anonymous: bool = False

    @property
    def features(self) -> frozenset[Feature]:
        """The same, as the tool's schema asks for them."""
        has = {
            Feature.POLL_HOURS: self.hours,
            Feature.POLL_SECONDS: self.seconds,
            Feature.ANONYMOUS_POLLS: self.anonymous,
        }
        return frozenset(feature for feature, there in has.items() if there)


ActionTable = Mapping[Action, ChannelAction]


def action(*needs: str, gate: str | None = None, on: bool = True, of_others: str | None = None) -> ChannelAction:
    """The usual entry of a table."""
    return ChannelAction(needs=needs, gate=gate, on=on, of_others=of_others)


def react(remove: str = "emoji required", *, gate: str | None = "reactions") -> ChannelAction:
    """Reactions. `remove`: the error for a reaction to take away that names no emoji."""
    return ChannelAction(needs=("messageId", "emoji"), gate=gate, errors={"emoji to remove": remove})


#: messages in other forms, which every platform has that can send the text or the file in them
_MESSAGES: ActionTable = {
    Action.REPLY: action("messageId|replyTo", "message|media|path|filePath|card"),
    Action.SEND_ATTACHMENT: action(_FILE),
    Action.UPLOAD_FILE: action(_FILE),
}


#: of platforms with threads
THREAD_REPLY = action("message|media|path|filePath|card")


def table(own: ActionTable) -> ActionTable:
    """The table of a platform: its own entries, a plain send, and messages in other forms."""
    return {Action.SEND: ChannelAction(), **_MESSAGES, **own}


def _usual(which: Action) -> ChannelAction:
    spec = which.spec
    if which is Action.REACT:
        return react(gate=None)
    if which is Action.EDIT:
        return action("messageId", "message")
    if which is Action.POLL_VOTE:
        return action("messageId", VOTE)
    return action(*(("messageId",) if spec.of_message else ()))


#: of a platform without a table of its own: whatever its adapter can do
USUAL_ACTIONS: ActionTable = {
    **{which: _usual(which) for which in Action if which.spec.kind is not ActionKind.MESSAGE},
    **table({Action.POLL: ChannelAction(), Action.STICKER: action("stickerId|fileId")}),
    Action.SEND_WITH_EFFECT: action("message", "effectId|effect"),
    Action.THREAD_REPLY: THREAD_REPLY,
}
