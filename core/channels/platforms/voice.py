"""Voice calls: one person by phone number, written ``voice:<number>``. A call is a thread of that conversation.

A call is a direct conversation like any other: From, To and the target are ``voice:`` and the international number;
``tel:`` and the bare number are accepted too.

The platform's id of a call is the thread of its address. It is no part of the session key: what was said in one call is
remembered in the next. But what is said in a call is said there or nowhere, so a turn in a call sends to that call. A
target without a call means the one that is going on; the adapter refuses it with `core.errors.CallEnded` unless there
is exactly one.
"""

from trunkline.core.action_catalogue import Action
from trunkline.core.channels.channel_actions import ChannelAction, PollFeatures
from trunkline.core.channels.rules import ChannelRules, CurrentConversation, Hints, ParsedTarget
from trunkline.core.channels.target_parsing import normal_phone
from trunkline.core.errors import TargetError
from trunkline.core.values import Address, Capabilities, Capability, ChatKind, Chunker, Markup

_WORDS = ("user", "dm")


class Voice(ChannelRules):
    channel = "voice"
    prefixes = ("tel",)
    forms = ("voice:+15551234567", "tel:+1-555-123-4567", "+1 (555) 123-4567")
    case_sensitive = False
    #: calls
    has_threads = True
    #: an utterance of about eight seconds, since it has to end within `delivery.request_timeout`; styles are not heard
    capabilities = Capabilities(
        can=frozenset({Capability.TEXT, Capability.MESSAGE_IDS}), text_limit=120, markup=Markup.STYLED
    )
    chunker = Chunker.SENTENCES
    actions = {Action.SEND: ChannelAction()}  # noqa: RUF012 -- read only, like every table
    polls = PollFeatures()
    unsupported = "Action {action} not supported for {channel}."

    def key_thread(self, address: Address) -> tuple[str, str] | None:
        """None: a session outlives its calls."""
        return None

    def read(self, text: str, hints: Hints) -> ParsedTarget:
        """An international phone number in any notation."""
        _, bare = self.kind_word(self.strip(self.clean(text), repeat=True), _WORDS)
        if not bare:
            return self.target(ChatKind.DIRECT, bare, text, "a call is with one person")
        phone = normal_phone(bare)
        if phone is None:
            raise self.wrong(text, f"expected an international phone number, but {bare!r} is none")
        return self.target(ChatKind.DIRECT, phone, text, "by phone number")

    def inherit(self, target: ParsedTarget, current: CurrentConversation) -> str | None:
        """The call that the agent works in, for a send to the same number."""
        if current.thread is None or current.conversation is None:
            return None
        try:
            own = self.read(current.conversation, Hints())
        except TargetError:
            return None
        return current.thread if own.id == target.id else None

    def to(self, target: ParsedTarget) -> str:
        return f"{self.channel}:{target.id}"
