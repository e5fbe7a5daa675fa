"""Where a heartbeat delivers: channel, recipient and account, or the reason why there is none."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

import msgspec

from trunkline.core.channels import ChannelRulebook, ChannelRules, Hints

#: targets that are no channel
from trunkline.core.config.heartbeat import LAST, NONE, OWNER
from trunkline.core.errors import AmbiguousTarget, TargetError
from trunkline.core.profile_rules import OURS, ProfileRules
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, ChatKind

#: who a heartbeat's message is from, where nobody else is known
HEARTBEAT_SENDER = "heartbeat"
ANYBODY = "*"


class Route(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A place as text, perhaps incomplete: where a session was last used, or where a wake request came from."""

    channel: str | None = None
    to: str | None = None
    account: str | None = None
    #: the same as an address, where it is known
    place: Address | None = None
    #: what kind of conversation it is, where that is known without an address
    kind: ChatKind | None = None


class TargetQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """The facts that decide where a heartbeat delivers."""

    #: ``last``, ``none``, ``owner`` or a channel; None or unknown: `default`
    target: str | None = None
    default: str
    to: str | None = None
    account: str | None = None
    direct_policy: Literal["allow", "block"] = "allow"
    #: where the session was last used by a person
    last: Route = Route()
    #: channel -> people that may be written to
    recipients: Mapping[str, tuple[str, ...]] = {}
    #: channel -> accounts, where they are known
    accounts: Mapping[str, tuple[str, ...]] = {}
    #: owners as ``<channel>:<id>``
    owners: tuple[str, ...] = ()
    #: channels that can deliver, in the order in which an owner is looked for
    channels: tuple[str, ...]
    #: the rules by which the target is found
    by: ProfileRules = OURS


class HeartbeatTarget(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Where a heartbeat delivers; without a channel: nowhere, and why."""

    channel: str | None = None
    to: str | None = None
    account: str | None = None
    #: the recipient as an address, if it is where the session was last used or where the wake request came from
    place: Address | None = None
    #: why there is no target, or that another recipient was taken
    reason: Reason | None = None
    #: the person that the run is for
    sender: str = HEARTBEAT_SENDER

    @property
    def deliverable(self) -> bool:
        return self.channel is not None


class HeartbeatTargets:
    """The rules of a profile for the targets of heartbeats."""

    #: the target if none is configured
    default: ClassVar[str] = OWNER

    def account(self, account: str) -> str:
        """The account that delivers, in the form in which it is recorded."""
        return account

    def missing(self, target: str) -> Reason:
        """The reason of a target that leads nowhere."""
        return Reason.NO_ROUTE if target in (LAST, OWNER) else Reason.NO_TARGET

    def is_direct(self, kind: ChatKind | None) -> bool:
        """Whether a recipient counts as one person. None: its text proves no kind."""
        return kind is None or kind is ChatKind.DIRECT

    def ambiguous_kind(self) -> ChatKind | None:
        """The kind of a recipient whose text has several meanings."""
        return None

    def unlisted(self, number: str, listed: Sequence[str]) -> str | None:
        """The recipient where nobody of a list can be read; None: there is none."""
        return None if listed else number


def resolve_heartbeat_target(question: TargetQuestion) -> HeartbeatTarget:
    """Channel and recipient, then the account, then whether the recipient may be written to."""
    found = _resolve(question)
    return msgspec.structs.replace(found, sender=_sender(question, found))


def _resolve(question: TargetQuestion) -> HeartbeatTarget:
    target = _target(question)
    if target == NONE:
        return HeartbeatTarget(reason=Reason.TARGET_NONE)
    route = _owner(question) if target == OWNER else _route(question, target)
    named = _given(question.account)
    account = named or route.account
    if named is not None and route.channel is not None:
        accounts = question.accounts.get(route.channel, ())
        if accounts:
            account = next((one for one in accounts if one.strip().lower() == named.lower()), None)
            if account is None:
                return HeartbeatTarget(account=named.lower(), reason=Reason.UNKNOWN_HEARTBEAT_ACCOUNT)
            account = question.by[HeartbeatTargets].account(account)
    nowhere = HeartbeatTarget(account=account, reason=question.by[HeartbeatTargets].missing(target))
    if route.channel is None or route.to is None:
        return nowhere
    # An owner is looked for among direct chats only.
    return _recipient(question, msgspec.structs.replace(route, account=account), nowhere, proven=target == OWNER)


def _target(question: TargetQuestion) -> str:
    """The target, and the default for a text that is none."""
    if question.target in (LAST, NONE, OWNER):
        return question.target
    return _channel(question, question.target) or question.default


def _channel(question: TargetQuestion, name: str | None) -> str | None:
    """A channel that can deliver."""
    channel = (name or "").strip().lower()
    return channel if channel in question.channels and question.by[ChannelRulebook].delivers(channel) else None


def _route(question: TargetQuestion, target: str) -> Route:
    """The configured recipient, else the last one if it is on the channel. A thread is not inherited."""
    last, named = _channel(question, question.last.channel), _given(question.to)
    channel = last if target == LAST else target
    if channel is None or channel != last:
        return Route(channel=channel, to=named)
    account = _given(question.last.account)
    if named is not None:
        return Route(channel=channel, to=named, account=account)
    return msgspec.structs.replace(
        question.last, channel=channel, to=_given(question.last.to), account=account, place=_room(question.last.place)
    )


def _room(place: Address | None) -> Address | None:
    """The place without its thread; a thread that is a conversation of its own stays."""
    return None if place is None else msgspec.structs.replace(place, thread=None)


def _owner(question: TargetQuestion) -> Route:
    """A direct chat with the first owner, else with the first recipient."""
    last = _channel(question, question.last.channel)
    channels = tuple(dict.fromkeys((*((last,) if last else ()), *question.channels)))
    by_owner = [(channel, [o.partition(":")[2] for o in question.owners if _on(o, channel)]) for channel in channels]
    by_list = [(channel, list(question.recipients.get(channel, ()))) for channel in channels]
    for channel, people in (*by_owner, *by_list):
        for person in people:
            if person.strip() in ("", ANYBODY):
                continue
            if _kind(channel, person, question.by) is ChatKind.DIRECT:
                account = _given(question.last.account) if channel == last else None
                return Route(channel=channel, to=person.strip(), account=account)
    return Route()


def _on(owner: str, channel: str) -> bool:
    return owner.partition(":")[0].strip().lower() == channel


def _recipient(question: TargetQuestion, route: Route, nowhere: HeartbeatTarget, *, proven: bool) -> HeartbeatTarget:
    """The target with the recipient in the channel's form, if that one may be written to."""
    channel, named = route.channel or "", route.to or ""
    recipient, reason = _permitted(channel, named, question)
    if recipient is None:
        return nowhere
    same = route.place if reason is None else None
    kind = same.kind if same else route.kind
    if kind is None:
        kind = ChatKind.DIRECT if proven else _kind(channel, recipient, question.by)
    if question.by[HeartbeatTargets].is_direct(kind) and question.direct_policy == "block":
        return msgspec.structs.replace(nowhere, reason=Reason.DM_BLOCKED)
    return HeartbeatTarget(channel=channel, to=recipient, account=route.account, place=same, reason=reason)


def _permitted(channel: str, to: str, question: TargetQuestion) -> tuple[str | None, Reason | None]:
    """The recipient in the channel's form, and a note if it is another one; None if there is none.

    WhatsApp: a person who is not listed is replaced by the first one that is. Groups are never replaced.
    """
    if channel != "whatsapp":
        return to, None
    rules = question.by[ChannelRulebook].of(channel)
    listed = [text.strip() for text in question.recipients.get(channel, ()) if text.strip()]
    people = [number for text in listed if text != ANYBODY and (number := _id(text, rules))]
    number = _id(to, rules)
    if number is None:
        return next(iter(people), None), None
    # The number of a person and their JID are one.
    is_listed = rules.fold(ChatKind.DIRECT, number) in (rules.fold(ChatKind.DIRECT, person) for person in people)
    if is_listed or ANYBODY in listed or number.endswith("@g.us"):
        return number, None
    if people:
        return people[0], Reason.ALLOW_FROM_FALLBACK
    return question.by[HeartbeatTargets].unlisted(number, listed), None


def _id(text: str, rules: ChannelRules) -> str | None:
    try:
        return rules.read(text, Hints()).id
    except TargetError:
        return None


def _kind(channel: str, to: str, by: ProfileRules) -> ChatKind | None:
    """The kind of a recipient's conversation; None if its text does not prove one."""
    try:
        found = by[ChannelRulebook].of(channel).read(to, Hints())
    except AmbiguousTarget:
        return by[HeartbeatTargets].ambiguous_kind()
    except TargetError:
        return None
    by_default = found.understood.endswith("by default")
    return None if by_default and found.kind is ChatKind.DIRECT else found.kind


def _sender(question: TargetQuestion, found: HeartbeatTarget) -> str:
    """The person that the run is for: the recipient, or the last one, if the channel's recipients name it."""
    channel = found.channel or _channel(question, question.last.channel)
    allowed = question.recipients.get(channel or "", ())
    last = question.last.to
    candidates = [
        text.strip()
        for to in (found.to, last)
        if to is not None and to.strip()
        for text in ((to, f"{channel}:{to}") if channel else (to,))
    ]
    people = [text for text in allowed if text and text != ANYBODY]
    if ANYBODY in allowed or not people:
        return next(iter(candidates), HEARTBEAT_SENDER)
    return next((text for text in candidates if text in people), people[0])


def _given(text: str | None) -> str | None:
    return (text or "").strip() or None
