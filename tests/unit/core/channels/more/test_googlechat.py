"""Google Chat."""

import pytest

from tests.support.channel_cases import AUGUST, MARCH
from tests.support.for_each import for_each
from tests.support.routes import inbound_key, key, read, route, seen
from trunkline.core.channels import rules_for
from trunkline.core.channels.rules import ChannelRules
from trunkline.core.errors import AmbiguousTarget, TargetError
from trunkline.core.values import Address, ChatKind

CHAT = "googlechat"
THREAD = "spaces/AAA/threads/T-1"


@for_each(
    ("text", "kind", "id"),
    [
        ("spaces/AAA", "group", "spaces/AAA"),
        ("googlechat:spaces/AAA", "group", "spaces/AAA"),
        ("GChat:space:AAA", "group", "spaces/AAA"),
        ("channel:spaces/AAA", "group", "spaces/AAA"),
        ("room:AAA", "group", "spaces/AAA"),
        (THREAD, "group", "spaces/AAA"),
        ("dm:spaces/AAA", "direct", "spaces/AAA"),
        ("users/117", "direct", "users/117"),
        ("user:117", "direct", "users/117"),
        ("user:users/117", "direct", "users/117"),
        ("ana@example.com", "direct", "users/ana@example.com"),
        ("google-chat:users/ana@example.com", "direct", "users/ana@example.com"),
    ],
)
def test_what_is_read(text: str, kind: str, id: str) -> None:  # noqa: A002 -- the word
    assert seen(CHAT, text) == (kind, id)


@pytest.mark.parametrize("text", ["AAA", "117"])
def test_a_bare_id_may_be_both(text: str) -> None:
    with pytest.raises(AmbiguousTarget, match="write users/ or spaces/ before the id"):
        read(CHAT, text)
    assert seen(CHAT, text, kind=ChatKind.DIRECT) == ("direct", f"users/{text}")
    assert seen(CHAT, text, kind=ChatKind.GROUP) == ("group", f"spaces/{text}")


@for_each(
    "text",
    [
        "spaces/",
        "users/",
        "spaces/AAA/messages/1",
        "spaces/AAA/threads/",
        "spaces/a b",
        "users/1/2",
        "channel:users/117",
        "space:ana@example.com",
        f"dm:{THREAD}",
        "space:",
    ],
)
def test_what_is_no_target(text: str) -> None:
    with pytest.raises(TargetError, match="Accepted: spaces/ID"):
        read(CHAT, text)


def test_a_directory_knows_that_a_space_is_a_direct_conversation() -> None:
    assert seen(CHAT, "spaces/AAA", kind=ChatKind.DIRECT) == ("direct", "spaces/AAA")
    assert seen(CHAT, "spaces/AAA", kind=ChatKind.CHANNEL) == ("group", "spaces/AAA")


@pytest.mark.parametrize("thread", ["T-1", THREAD])
def test_a_thread_has_one_place_and_one_key_in_all_spellings(thread: str) -> None:
    place = Address(channel=CHAT, account="default", kind=ChatKind.GROUP, conversation="spaces/AAA", thread=THREAD)
    found = route(CHAT, "spaces/AAA", thread=thread)
    assert found.address == place == route(CHAT, THREAD).address
    wanted = "main:googlechat:default:group:spaces%2f%41%41%41:thread:%54-1"
    assert inbound_key(place) == key(CHAT, "spaces/AAA", thread=thread) == wanted


@pytest.mark.parametrize("thread", ["spaces/BBB/threads/T-1", "a/b", "a b"])
def test_a_thread_of_another_space_is_refused(thread: str) -> None:
    with pytest.raises(TargetError, match="it is no thread of spaces/AAA"):
        route(CHAT, "spaces/AAA", thread=thread)


def test_people_have_no_threads() -> None:
    assert route(CHAT, "users/117", thread="T-1").address.thread is None


def test_mail_addresses_have_no_case() -> None:
    assert key(CHAT, "Ana@Example.com") == key(CHAT, "users/ana@example.com")
    assert key(CHAT, "spaces/aaa") != key(CHAT, "spaces/AAA")


@for_each("profile", [MARCH, AUGUST])
@for_each("text", ["spaces/AAA", "user:1", "channel:spaces/AAA", "group:x", "users/1"])
def test_upstream_has_generic_rules(profile, text: str) -> None:
    generic = ChannelRules(CHAT)
    hints = {"profile": profile}
    assert rules_for(CHAT).capabilities != generic.capabilities
    found = route(CHAT, text, profile, thread="9", account="work")
    assert (found.kind.value, found.peer) == seen("customchat", text, **hints)
    other = route("customchat", text, profile, thread="9", account="work")
    assert key(CHAT, text, profile, account="work") == key("customchat", text, profile, account="work").replace(
        "customchat", CHAT
    )
    assert (found.to, found.thread_id) == (other.to, other.thread_id)
