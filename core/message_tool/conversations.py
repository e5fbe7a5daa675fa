"""Whether two places are one conversation, whether the configuration lists a place, and places that are none. Pure.

An action that names no conversation gets a place that gives the change its lane, the unit of order: changes of one
server are carried out in order, and so are those of one account. No platform has such a conversation.
"""

from trunkline.core.channels import rules_for
from trunkline.core.channels.listed_place import listed_place
from trunkline.core.values import Address, ChatKind


def is_listed(place: Address, entry: str) -> bool:
    """Whether an entry names a place; a thread belongs to the conversation that it is in."""
    listed = listed_place(entry)
    if listed.channel != place.channel:
        return False
    if listed.conversation is None:
        return True
    return not conversation_ids(place).isdisjoint(_ids(place.channel, *listed.conversation))


def same_conversation(one: Address, other: Address) -> bool:
    """Whether two places belong to one conversation of one account: a thread belongs to the one that it is in."""
    if (one.channel, one.account) != (other.channel, other.account):
        return False
    return not conversation_ids(one).isdisjoint(conversation_ids(other))


def conversation_ids(place: Address) -> frozenset[tuple[bool, str]]:
    """A conversation and the one that it is in, as its channel compares them: whether it is direct, and its id.

    Groups and channels are one kind here: not every target says which of the two it is.
    """
    own = _ids(place.channel, place.kind, place.conversation)
    return own if place.parent is None else own | _ids(place.channel, place.kind, place.parent)


def _ids(channel: str, kind: ChatKind, id: str) -> frozenset[tuple[bool, str]]:  # noqa: A002 -- the word
    return frozenset([(kind is ChatKind.DIRECT, rules_for(channel).fold(kind, id))])


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
    return place.conversation != _ACCOUNT and not place.conversation.startswith(_SERVER)
