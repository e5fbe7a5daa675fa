"""Laws of session keys: whatever the ids are, text and value are one to one."""

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from trunkline.core.errors import KeyFormatError
from trunkline.core.keys import SessionKey, encode_v1, parse_v1
from trunkline.core.values import ChatKind

#: ids of any platform, and hostile ones: delimiters, percent signs, words of the grammar, both cases, surrogates
ids = st.one_of(
    st.text(min_size=1, max_size=12),
    st.text(alphabet=":%*aAzZ0-._~@+/ 5b2", min_size=1, max_size=12),
    st.text(alphabet=st.characters(categories=["Cs", "Ll", "Lu", "So"]), min_size=1, max_size=6),
    st.sampled_from(["main", "guild", "team", "thread", "topic", "direct", "group", "channel", "*", "%2a", "%", ":"]),
)


@st.composite
def conversation_keys(draw: st.DrawFn) -> SessionKey:
    return SessionKey(
        agent=draw(ids),
        channel=draw(st.none() | ids),
        account=draw(st.none() | ids),
        kind=draw(st.sampled_from(ChatKind)),
        peer=draw(ids),
        linked=draw(st.booleans()),
        space=draw(st.none() | st.tuples(st.sampled_from(["guild", "team"]), ids)),
        thread=draw(st.none() | st.tuples(st.sampled_from(["thread", "topic"]), ids)),
    )


keys = st.one_of(conversation_keys(), ids.map(lambda agent: SessionKey(agent=agent)))


@given(keys)
def test_text_is_read_back_as_the_same_key(key: SessionKey) -> None:
    assert parse_v1(encode_v1(key)) == key


@given(keys, keys)
def test_different_keys_have_different_texts(one: SessionKey, other: SessionKey) -> None:
    assert (encode_v1(one) == encode_v1(other)) is (one == other)


@given(keys)
def test_text_is_lower_case_and_safe_in_urls(key: SessionKey) -> None:
    text = encode_v1(key)
    assert text.isascii()
    assert text == text.lower()
    assert set(text) <= set("abcdefghijklmnopqrstuvwxyz0123456789-._~@+%*:")


@given(ids, ids, ids)
def test_an_id_never_becomes_a_star(channel: str, account: str, peer: str) -> None:
    key = SessionKey(agent="main", channel=channel, account=account, kind=ChatKind.DIRECT, peer=peer)
    assert "*" not in encode_v1(key)


@given(st.text(alphabet=st.characters(codec=None, exclude_categories=[]) | st.sampled_from(":*%"), max_size=40))
@example("main:discord:default:direct:*")
@example("a:b:c:guild:d")
@example("a:b:c:direct:%ed%a0%80")
def test_text_is_a_canonical_key_or_refused(text: str) -> None:
    try:
        key = parse_v1(text)
    except KeyFormatError:
        return
    assert encode_v1(key) == text


@given(conversation_keys(), st.data())
def test_a_text_with_one_change_is_another_key_or_refused(key: SessionKey, data: st.DataObject) -> None:
    text = encode_v1(key)
    at = data.draw(st.integers(0, len(text) - 1))
    changed = text[:at] + data.draw(st.sampled_from(":%*aA0ä")) + text[at + 1 :]
    assume(changed != text)
    try:
        other = parse_v1(changed)
    except KeyFormatError:
        return
    assert other != key
    assert encode_v1(other) == changed


@given(conversation_keys())
def test_upper_case_of_a_key_is_refused(key: SessionKey) -> None:
    text = encode_v1(key).upper()
    with pytest.raises(KeyFormatError):
        parse_v1(text)
