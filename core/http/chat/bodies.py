"""An inbound message as a client sends it, and the envelope that it becomes."""

from typing import Annotated

import msgspec

from trunkline.core.adapters.mailbox import MailboxAdapter
from trunkline.core.gateway import Gateway
from trunkline.core.http.problems import Problem
from trunkline.core.untrusted import check_ids
from trunkline.core.values import Address, ChatKind, Envelope, Peer

LONGEST_WAIT = 120
#: seconds that it waits where the client does not say how long
USUAL_WAIT = 60

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
#: an id of the platform, byte for byte
PlatformId = Annotated[str, msgspec.Meta(min_length=1, max_length=512)]
DisplayName = Annotated[str, msgspec.Meta(max_length=512)]
FileAddress = Annotated[str, msgspec.Meta(min_length=1, max_length=2048)]
Text = Annotated[str, msgspec.Meta(max_length=500_000)]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=LONGEST_WAIT)]


class InboundSender(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The author of a message in a group or channel."""

    id: PlatformId
    name: DisplayName = ""

    def __post_init__(self) -> None:
        check_ids(self, "id")


class InboundPeer(InboundSender, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The conversation: a person, a group or a channel."""

    kind: ChatKind


class InboundBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A message that a person wrote."""

    channel: Name
    account: Name = "default"
    peer: InboundPeer
    #: who wrote it; by default the peer. In a direct conversation both are the same person
    sender: InboundSender | None = None
    guild_id: PlatformId | None = None
    team_id: PlatformId | None = None
    #: roles of the sender in the guild
    roles: Annotated[tuple[PlatformId, ...], msgspec.Meta(max_length=500)] = ()
    thread_id: PlatformId | None = None
    #: the conversation above, where a thread is a conversation of its own (Discord)
    parent_id: PlatformId | None = None
    #: the message's id in its conversation; a message that is repeated with it is taken once
    message_id: PlatformId
    text: Text
    #: addresses of files; agents see each as a line ``MEDIA:<address>`` behind the text
    media: Annotated[tuple[FileAddress, ...], msgspec.Meta(max_length=50)] = ()
    #: id of the message that it answers
    reply_to: PlatformId | None = None
    #: number in the mailbox of the message whose button was pressed; `text` is the value of the button
    pressed: Annotated[int, msgspec.Meta(ge=1, lt=2**53)] | None = None
    #: when it was written, in seconds since 1970; by default now
    sent_at: Annotated[float, msgspec.Meta(ge=0, lt=1e12)] | None = None
    #: wait until nothing more can come of it: for a while, or for so many seconds
    wait: bool | Seconds = False

    def __post_init__(self) -> None:
        check_ids(self, "guild_id", "team_id", "roles", "thread_id", "parent_id", "message_id", "reply_to")


def mailbox_of(gateway: Gateway, channel: str, account: str) -> MailboxAdapter:
    """The mailbox of an account. Raises `Problem` 404 for an unknown account, and for one with another adapter."""
    adapter = gateway.adapters.get((channel, account))
    if isinstance(adapter, MailboxAdapter):
        return adapter
    there = [":".join(name) for name, known in gateway.adapters.items() if isinstance(known, MailboxAdapter)]
    named = ", ".join(sorted(there)) or "none: name some under `accounts` in the configuration"
    if adapter is not None:
        detail = f"{channel}:{account} speaks to its platform itself. Accounts of the API: {named}"
        raise Problem(404, "unknown-account", detail)
    slug = "unknown-account" if any(known == channel for known, _ in gateway.adapters) else "unknown-channel"
    raise Problem(404, slug, f"There is no account {channel}:{account}. Accounts of the API: {named}")


def envelope_of(body: InboundBody, now: float) -> Envelope:
    """The message as an adapter would deliver it. Raises `Problem` 422 for fields that contradict each other."""
    peer, sender = body.peer, body.sender
    if sender is not None and peer.kind is ChatKind.DIRECT and sender.id != peer.id:
        detail = "In a direct conversation the sender is the peer: leave `sender` out, or give it the same id."
        raise Problem(422, "invalid-body", detail, field="$.sender.id")
    author = Peer(id=peer.id, name=peer.name) if sender is None else Peer(id=sender.id, name=sender.name or peer.name)
    return Envelope(
        address=Address(
            channel=body.channel,
            account=body.account,
            kind=peer.kind,
            conversation=peer.id,
            thread=body.thread_id,
            parent=body.parent_id,
        ),
        peer=author,
        message_id=body.message_id,
        text=_text(body),
        sent_at=now if body.sent_at is None else body.sent_at,
        reply_to=body.reply_to,
        pressed=None if body.pressed is None else str(body.pressed),
        guild=body.guild_id,
        team=body.team_id,
        roles=body.roles,
    )


def _text(body: InboundBody) -> str:
    """The text with its files, as agents name files themselves: whatever reads texts sees them too."""
    for n, address in enumerate(body.media):
        if not address.isprintable() or not address.strip():
            detail = "The address of a file is blank, or has control characters."
            raise Problem(422, "invalid-body", detail, field=f"$.media[{n}]")
    lines = [body.text] if body.text.strip() or not body.media else []
    return "\n".join([*lines, *(f"MEDIA:{address}" for address in body.media)])
