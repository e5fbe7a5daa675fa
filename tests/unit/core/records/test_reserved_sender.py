"""The sender names of hands: who seems to bear one is escaped, visibly, and nobody becomes somebody else."""

from hypothesis import given
from hypothesis import strategies as st

from tests.support.for_each import for_each
from trunkline.core.records.reserved_sender import as_person, caller_sender, hand_sender, is_reserved
from trunkline.core.values import Peer


@for_each(
    "name",
    [
        "hand:clerk",
        "HAND:clerk",
        "Hand:",
        " \t\nhand:clerk",
        "\u00a0\u3000hand:clerk",
        "hand :clerk",
        "\u200bhand:clerk",
        "ha\u200dnd:clerk",
        "\ufeffhand:clerk",
        "\u202ehand:clerk",
        "\x07hand:clerk",
        "\uff48\uff41\uff4e\uff44\uff1aclerk",
        "hand\uff1aclerk",
        "hand\ufe55clerk",
        "hand\u2236clerk",
        "\U0001d421\U0001d41a\U0001d427\U0001d41d:clerk",
        "h\u0430nd:clerk",
        "h\u00e1nd:clerk",
        "ha\u0301nd:clerk",
        "H\u0410ND:clerk",
        "person:hand:clerk",
        "person: hand:clerk",
        "agent:main",
        "Agent :main",
        "\u0430g\u0435nt:main",
        "person:agent:main",
    ],
)
def test_what_begins_like_a_hand_is_reserved(name: str) -> None:
    assert is_reserved(name)
    assert as_person(Peer(id=name, name="Ana")) == Peer(id=f"person:{name}", name="Ana")
    assert as_person(Peer(id="100", name=name)) == Peer(id="100", name=f"person:{name}")


@for_each(
    "name",
    [
        "",
        "100",
        "hand",
        "hands:x",
        "handy: x",
        "a hand:x",
        "clerk",
        "@hand:matrix.org",
        "person:100",
        "\u0430\u043d\u0434:x",
    ],
)
def test_other_names_stay_as_they_are(name: str) -> None:
    peer = Peer(id=name, name=name)
    assert not is_reserved(name)
    assert as_person(peer) is peer


def test_the_sender_of_a_hand_is_reserved() -> None:
    assert hand_sender("clerk") == Peer(id="hand:clerk", name="clerk")
    assert caller_sender("main") == Peer(id="agent:main", name="main")
    assert is_reserved(hand_sender("clerk").id)
    assert is_reserved(caller_sender("main").id)


_NAMES = st.lists(st.sampled_from(["person:", "hand", ":", " ", "\u200b", "x", "\uff1a", "H"])).map("".join) | st.text()


@given(_NAMES)
def test_no_person_looks_like_a_hand_any_more(name: str) -> None:
    shown = as_person(Peer(id=name, name=name))
    assert shown.id == shown.name
    assert not shown.id.lstrip().lower().startswith("hand:")
    assert shown.id.endswith(name)


@given(_NAMES, _NAMES)
def test_two_people_never_become_one(one: str, other: str) -> None:
    assert (as_person(Peer(id=one)) == as_person(Peer(id=other))) is (one == other)
