"""Laws of canonical keys and of migrations: nothing changes twice, and nothing is lost."""

import msgspec
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tests.property.test_keys import keys
from tests.support.profiles import encode_openclaw, key_from_openclaw
from trunkline.core.errors import KeyFormatError
from trunkline.core.keys import SessionKey, StoredKey, canonical_key, encode_v1, plan_migration
from trunkline.core.values import ChatKind

#: pieces of both grammars, known platforms, and what may be between
pieces = st.sampled_from(
    [
        *(
            "agent",
            "Agent",
            "main",
            "ops",
            "slack",
            "telegram",
            "matrix",
            "signal",
            "homemade",
            "default",
            "*",
            "guild",
        ),
        *(
            "direct",
            "dm",
            "DM",
            "group",
            "channel",
            "thread",
            "topic",
            "subagent",
            "u1",
            "U1",
            "%41",
            "%",
            "",
            " ",
            "ß",
        ),
    ]
)
texts = st.one_of(st.lists(pieces, min_size=1, max_size=9).map(":".join), st.text(max_size=20))
plain_ids = st.from_regex(r"[a-z0-9_@+.-]{1,8}", fullmatch=True).filter(
    lambda text: text not in ("direct", "dm", "group", "channel", "thread", "topic", "main")
)


@given(texts)
def test_a_canonical_key_is_canonical(text: str) -> None:
    try:
        key = canonical_key(text)
    except KeyFormatError:
        return
    assert canonical_key(encode_v1(key)) == key


@given(keys)
def test_a_key_of_ours_is_its_own_canonical_key(key: SessionKey) -> None:
    # An agent of that name is the one that upstream's keys can be taken for.
    assume(key.agent != "agent")
    assert canonical_key(encode_v1(key)) == key


@given(keys)
def test_padding_and_upper_case_do_not_matter(key: SessionKey) -> None:
    assume(key.agent != "agent")
    text = encode_v1(key)
    assert canonical_key(f"\t {text.upper()} \n") == key


@st.composite
def upstream_keys(draw: st.DrawFn) -> SessionKey:
    """Keys that upstream's form has a place for."""
    kind = draw(st.sampled_from(ChatKind))
    channel = draw(plain_ids if kind is not ChatKind.DIRECT else st.none() | plain_ids)
    words = ["thread"] if kind is ChatKind.DIRECT else ["thread", "topic"]
    agents = st.from_regex(r"[a-z0-9][a-z0-9_-]{0,6}", fullmatch=True)
    accounts = st.none() if channel is None or kind is not ChatKind.DIRECT else st.none() | agents
    return SessionKey(
        agent=draw(agents),
        channel=channel,
        account=draw(accounts.filter(lambda text: text not in ("direct", "dm", "group", "channel", "prototype"))),
        kind=kind,
        peer=draw(plain_ids),
        thread=draw(st.none() | st.tuples(st.sampled_from(words), plain_ids)),
    )


@given(upstream_keys())
def test_what_upstream_has_a_place_for_is_read_back(key: SessionKey) -> None:
    assert key_from_openclaw(encode_openclaw(key)) == key


@given(st.lists(pieces.filter(str.strip), min_size=1, max_size=7).map(lambda parts: ":".join(("agent", "ops", *parts))))
@example("agent:ops:dm:direct:dm")
@example("agent:ops:slack:work:group:g1")
def test_upstreams_text_of_a_read_key_settles(text: str) -> None:
    key = key_from_openclaw(text)
    if key is None:
        return
    # What the form has no place for, a group's account, is gone then; nothing more goes.
    once = encode_openclaw(key)
    again = key_from_openclaw(once)
    assert again is not None
    assert encode_openclaw(again) == once


# -------------------------------------------------------------------- plans


def place(key: SessionKey) -> SessionKey:
    """As a configuration that folds peers and has one account would."""
    if key.is_main:
        return key
    return msgspec.structs.replace(key, account=key.account or "default", peer=key.peer.lower())


rows = st.lists(
    st.builds(StoredKey, key=texts, session_id=st.uuids().map(str), updated_at=st.integers(0, 3)),
    max_size=12,
    unique_by=lambda row: row.key,
)


@given(rows)
def test_every_row_is_in_one_part_of_the_plan(stored: list[StoredKey]) -> None:
    plan = plan_migration(stored, place)
    told = [
        *(move.session_id for move in plan.moves),
        *(row.session_id for row in plan.untouched),
        *(row.session_id for merge in plan.merged for row in merge.left),
        *(row.session_id for row in plan.unreadable),
    ]
    assert sorted(told) == sorted(row.session_id for row in stored)


@given(rows)
def test_the_kept_row_is_the_newest_and_no_key_is_taken_twice(stored: list[StoredKey]) -> None:
    plan = plan_migration(stored, place)
    for merge in plan.merged:
        assert all(row.updated_at <= merge.kept.updated_at for row in merge.left)
    after = [*(move.new for move in plan.moves), *(row.key for row in plan.untouched)]
    assert len(after) == len(set(after))


@given(rows)
def test_a_plan_that_was_carried_out_has_nothing_more_to_do(stored: list[StoredKey]) -> None:
    plan = plan_migration(stored, place)
    by_id = {row.session_id: row for row in stored}
    moved = [msgspec.structs.replace(by_id[move.session_id], key=move.new) for move in plan.moves]
    again = plan_migration([*plan.untouched, *moved], place)
    assert not again.changes
    assert not again.unreadable
