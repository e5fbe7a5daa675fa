"""Session keys, form v1: examples by hand. The laws are in tests/property/test_keys.py."""

import pytest

from tests.support.for_each import for_each
from trunkline.core.errors import KeyFormatError
from trunkline.core.keys import SessionKey, encode_v1, parse_v1
from trunkline.core.values import ChatKind

DIRECT, GROUP, CHANNEL = ChatKind.DIRECT, ChatKind.GROUP, ChatKind.CHANNEL


def key(kind: ChatKind = DIRECT, peer: str = "100", **fields: object) -> SessionKey:
    given = {"agent": "main", "channel": "discord", "account": "default", "kind": kind, "peer": peer, **fields}
    return SessionKey(**given)  # type: ignore[arg-type]


EXAMPLES = {
    "main:main": SessionKey(agent="main"),
    "ops:main": SessionKey(agent="ops"),
    "main:discord:default:direct:100": key(),
    "main:discord:default:group:g7": key(GROUP, "g7"),
    "main:discord:default:channel:500": key(CHANNEL, "500"),
    "main:telegram:work:group:-1007:topic:10": key(
        GROUP, "-1007", channel="telegram", account="work", thread=("topic", "10")
    ),
    "main:slack:default:channel:%431:thread:17.5": key(CHANNEL, "C1", channel="slack", thread=("thread", "17.5")),
    "main:discord:default:guild:acme:channel:500": key(CHANNEL, "500", space=("guild", "acme")),
    "main:slack:default:team:%541:channel:c:thread:t": key(
        CHANNEL, "c", channel="slack", space=("team", "T1"), thread=("thread", "t")
    ),
    "main:discord:*:direct:100": key(account=None),
    "main:*:*:direct:100": key(channel=None, account=None),
    "main:discord:default:direct:*ana": key(peer="ana", linked=True),
    "main:discord:default:direct:%2a": key(peer="*"),
    "main:%2a:%2a:direct:100": key(channel="*", account="*"),
    "main:discord:default:direct:a%3ab": key(peer="a:b"),
    "main:discord:default:direct:a%253ab": key(peer="a%3ab"),
    "main:discord:default:direct:%c3%a4": key(peer="ä"),
    "main:discord:default:direct:%c3%84": key(peer="Ä"),
    "main:whatsapp:default:direct:+4912@s.net": key(channel="whatsapp", peer="+4912@s.net"),
    "main:discord:default:direct:a%2fb%3f%23%20": key(peer="a/b?# "),
    # Ids that are words of the grammar.
    "main:main:main:direct:main": key(channel="main", account="main", peer="main"),
    "main:discord:default:direct:thread:thread:topic": key(peer="thread", thread=("thread", "topic")),
    "main:guild:team:guild:direct:direct:direct": key(
        channel="guild", account="team", space=("guild", "direct"), peer="direct"
    ),
}


@for_each(("text", "value"), EXAMPLES.items(), ids=list(EXAMPLES))
def test_a_key_has_this_text(text: str, value: SessionKey) -> None:
    assert encode_v1(value) == text
    assert str(value) == text


@for_each(("text", "value"), EXAMPLES.items(), ids=list(EXAMPLES))
def test_a_text_is_read_as_this_key(text: str, value: SessionKey) -> None:
    assert parse_v1(text) == value


REFUSED = {
    "": "expected agent:channel:account:kind:peer, agent:main or agent:subagent:id",
    "main": "expected agent:channel:account:kind:peer, agent:main or agent:subagent:id",
    ":main": "expected agent:channel:account:kind:peer, agent:main or agent:subagent:id",
    "main:other": "expected agent:channel:account:kind:peer, agent:main or agent:subagent:id",
    "main:discord:default:direct": "expected agent:channel:account:kind:peer, agent:main or agent:subagent:id",
    "main:discord:default:direct:": "expected agent:channel:account:kind:peer, agent:main or agent:subagent:id",
    "main::default:direct:100": "expected agent:channel:account:kind:peer, agent:main or agent:subagent:id",
    "main:discord:default:dm:100": "expected direct, group or channel, a peer, and at most a thread",
    "main:discord:default:DIRECT:100": "expected direct, group or channel, a peer, and at most a thread",
    "main:discord:default:guild:acme": "expected direct, group or channel, a peer, and at most a thread",
    "main:discord:default:guild:acme:channel": "expected direct, group or channel, a peer, and at most a thread",
    "main:discord:default:direct:100:thread": "expected direct, group or channel, a peer, and at most a thread",
    "main:discord:default:direct:100:post:7": "expected direct, group or channel, a peer, and at most a thread",
    "main:discord:default:direct:100:thread:7:x": "expected direct, group or channel, a peer, and at most a thread",
    "main:discord:default:direct:*": "'*' stands before the name of linked people, and there is none",
    "main:discord:default:direct:Ana": "'Ana' is not in canonical form, which is '%41na'",
    "MAIN:main": "'MAIN' is not in canonical form, which is '%4d%41%49%4e'",
    "main:Discord:default:direct:100": "'Discord' is not in canonical form, which is '%44iscord'",
    "main:discord:default:direct:%2A": "'%2A' is not in canonical form, which is '%2a'",
    "main:discord:default:direct:%61na": "'%61na' is not in canonical form, which is 'ana'",
    "main:discord:default:direct:ä": "'ä' is not in canonical form, which is '%c3%a4'",
    "main:discord:default:direct:a b": "'a b' is not in canonical form, which is 'a%20b'",
    "main:discord:default:direct:50%": "'50%' is not in canonical form, which is '50%25'",
    "main:discord:default:direct:100\n": "'100\\n' is not in canonical form, which is '100%0a'",
    "main:discord:default:direct:a*": "'a*' is not in canonical form, which is 'a%2a'",
    "main:discord:default:direct:**ana": "'*ana' is not in canonical form, which is '%2aana'",
    "main:disc*:default:direct:100": "'disc*' is not in canonical form, which is 'disc%2a'",
    "main:discord:default:direct:%ff": "'%ff' is not percent-encoded UTF-8",
    "main:discord:default:direct:\ud800": "'\\ud800' is not percent-encoded UTF-8",
    "*:main": "'*' is not in canonical form, which is '%2a'",
}


@for_each(("text", "says"), REFUSED.items(), ids=[ascii(text) for text in REFUSED])
def test_what_is_not_a_canonical_key_is_refused_by_name(text: str, says: str) -> None:
    with pytest.raises(KeyFormatError) as refusal:
        parse_v1(text)
    assert str(refusal.value) == f"Not a session key: {text!r}: {says}"


def test_a_conversation_without_a_peer_has_no_text() -> None:
    with pytest.raises(KeyFormatError, match="a conversation's session key needs a peer"):
        encode_v1(key(peer=""))


def test_an_id_that_looks_like_a_linked_name_is_not_one() -> None:
    assert encode_v1(key(peer="*ana")) != encode_v1(key(peer="ana", linked=True))


def test_only_the_key_without_a_kind_is_main() -> None:
    assert SessionKey(agent="main").is_main
    assert not key().is_main
