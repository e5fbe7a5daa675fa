"""Places of actions that name no conversation: each gives a change its lane, the unit of order. Pure.

Changes of one server are carried out in order, and so are those of one account. No platform has such a conversation.
"""

from __future__ import annotations

from trunkline.core.values import Address, ChatKind

#: conversation of an action on the account itself, such as its presence
_ACCOUNT = "@account"
#: in front of the platform's id of a server (Discord: guild, Slack: team)
_SERVER = "@server/"


def account_place(channel: str, account: str) -> Address:
    """The place of an action that concerns the account itself."""
    return Address(channel=channel, account=account, kind=ChatKind.CHANNEL, conversation=_ACCOUNT)


def server_place(channel: str, account: str, server: str | None) -> Address:
    """The place of an action that concerns a server; without a server, that of the account."""
    if server is None or not server.strip():
        return account_place(channel, account)
    return Address(channel=channel, account=account, kind=ChatKind.CHANNEL, conversation=_SERVER + server.strip())


def is_conversation(place: Address) -> bool:
    """Whether a place is a conversation of its platform."""
    return place.conversation != _ACCOUNT and not place.conversation.startswith(_SERVER)
