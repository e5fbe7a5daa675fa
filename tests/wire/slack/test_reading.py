"""Events and interactions become envelopes, or are none, or are unreadable."""

from typing import Any

import pytest

from tests.support.own_names import own_names
from trunkline.core.adapters.own_names import OwnPost
from trunkline.core.adapters.slack.inbound.events import (
    Kind,
    OtherTeam,
    SlackReader,
    SlackSelf,
    UnreadableUpdate,
    read_message,
    read_presses,
)
from trunkline.core.values import ChatKind, Envelope

ME = SlackSelf(user="U0BOT", bot="B0BOT", team="T1")
OWN = own_names("slack", ME.user, ME.bot)
EVENT: dict[str, Any] = {
    "type": "message",
    "channel": "C1",
    "channel_type": "channel",
    "user": "U1",
    "text": "hello",
    "ts": "1700000000.000100",
}
PRESS: dict[str, Any] = {
    "type": "block_actions",
    "user": {"id": "U1", "name": "ana"},
    "channel": {"id": "C1", "name": "ops"},
    "message": {"ts": "5.5"},
    "trigger_id": "t.1",
    "actions": [{"type": "button", "action_id": "a", "value": "yes", "action_ts": "6.6"}],
}


def read(changes: dict[str, Any], kinds: dict[str, Kind] | None = None) -> Envelope | None:
    return read_message({**EVENT, **changes}, "default", OWN, kinds or {}, "T1")


def test_a_message() -> None:
    found = read({"new_field": {"of": "the future"}, "client_msg_id": 7})
    assert found is not None
    assert (found.address.kind, found.address.conversation, found.address.thread) == (ChatKind.CHANNEL, "C1", None)
    assert (found.text, found.message_id, found.peer.id) == ("hello", "1700000000.000100", "U1")
    assert (found.sent_at, found.team, found.bot, found.webhook) == (1_700_000_000.0001, "T1", False, None)


@pytest.mark.parametrize(
    ("changes", "kind", "conversation"),
    [
        ({"channel": "D1", "channel_type": "im"}, ChatKind.DIRECT, "U1"),
        ({"channel": "G1", "channel_type": "mpim"}, ChatKind.GROUP, "G1"),
        ({"channel": "G1", "channel_type": "group"}, ChatKind.CHANNEL, "G1"),
        ({"type": "app_mention", "channel_type": None}, ChatKind.CHANNEL, "C1"),
        ({"type": "app_mention", "channel_type": None, "channel": "G9"}, ChatKind.GROUP, "G9"),
        ({"channel_type": "of_the_future", "channel": "D1"}, ChatKind.DIRECT, "U1"),
    ],
)
def test_the_kind_of_a_conversation(changes: dict[str, Any], kind: ChatKind, conversation: str) -> None:
    found = read(changes, {"G9": "mpim"})
    assert found is not None
    assert (found.address.kind, found.address.conversation) == (kind, conversation)


@pytest.mark.parametrize(
    ("changes", "thread"),
    [
        ({"thread_ts": "1.1", "parent_user_id": "U2"}, "1.1"),
        ({"thread_ts": "1.1", "subtype": "thread_broadcast"}, "1.1"),
        # The root of a thread that has answers is itself in the room.
        ({"thread_ts": "1700000000.000100"}, None),
    ],
)
def test_only_answers_are_in_a_thread(changes: dict[str, Any], thread: str | None) -> None:
    found = read(changes)
    assert found is not None
    assert found.address.thread == thread


def test_texts_are_as_people_see_them_and_files_are_named() -> None:
    files = [{"id": "F1", "name": "a.png"}, {"id": "F2", "name": None}, {"name": "no id"}]
    found = read({"text": "a &lt; b &amp;amp; c", "files": files, "subtype": "file_share"})
    assert found is not None
    assert found.text == "a < b &amp; c"
    assert [part.words for part in found.parts] == ["[document: a.png, F1]", "[document: F2]"]


def test_a_webhook_and_another_bot() -> None:
    webhook = read({"user": None, "bot_id": "B2", "subtype": "bot_message", "username": "deploys"})
    bot = read({"bot_id": "B2"})
    assert webhook is not None
    assert (webhook.peer.id, webhook.peer.name, webhook.bot, webhook.webhook) == ("B2", "deploys", True, "B2")
    assert bot is not None
    assert (bot.peer.id, bot.bot, bot.webhook) == ("U1", True, None)


@pytest.mark.parametrize(
    "changes",
    [
        {"subtype": "message_changed"},
        {"subtype": "message_deleted"},
        {"subtype": "channel_join"},
        {"subtype": "of_the_future"},
        {"type": "reaction_added"},
        {"hidden": True},
    ],
)
def test_what_is_no_message(changes: dict[str, Any]) -> None:
    assert read(changes) is None


@pytest.mark.parametrize(
    "changes",
    [{"user": "U0BOT"}, {"bot_id": "B0BOT"}, {"user": None, "bot_id": "B0BOT", "subtype": "bot_message"}],
    ids=["user without a bot", "bot", "bot without a user"],
)
def test_an_own_post_is_recognised_by_each_name(changes: dict[str, Any]) -> None:
    with pytest.raises(OwnPost):
        read(changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"ts": None},
        {"ts": "yesterday"},
        {"ts": "9" * 30},
        {"channel": 5},
        {"channel": ""},
        {"channel": "C\ud83d"},
        {"channel": "C" * 300},
        {"user": "U\x1b[31m"},
        {"user": None},
        {"text": ["a", "list"]},
        {"thread_ts": ""},
        {"subtype": []},
        {"subtype": {"of": "the future"}},
        {"channel_type": []},
    ],
)
def test_an_unreadable_message(changes: dict[str, Any]) -> None:
    with pytest.raises(UnreadableUpdate):
        read(changes)


def test_half_a_character_in_a_text_is_replaced() -> None:
    found = read({"text": "a\ud83d"})
    assert found is not None
    assert found.text == "a?"


@pytest.mark.parametrize(
    ("changes", "kind", "thread", "text"),
    [
        ({}, ChatKind.CHANNEL, None, "yes"),
        ({"message": {"ts": "5.5", "thread_ts": "4.4"}}, ChatKind.CHANNEL, "4.4", "yes"),
        ({"channel": {"id": "D1", "name": "directmessage"}}, ChatKind.DIRECT, None, "yes"),
        ({"channel": {"id": "C1", "name": "mpdm-a--b-1"}}, ChatKind.GROUP, None, "yes"),
        ({"actions": [{"action_id": "a", "selected_option": {"value": "two"}}]}, ChatKind.CHANNEL, None, "two"),
        ({"actions": [{"action_id": "a"}]}, ChatKind.CHANNEL, None, "a"),
    ],
)
def test_a_press(changes: dict[str, Any], kind: ChatKind, thread: str | None, text: str) -> None:
    [found] = read_presses({**PRESS, **changes}, "default", {}, "T1")
    assert (found.address.kind, found.address.thread, found.text) == (kind, thread, text)
    assert (found.pressed, found.message_id, found.peer.name) == ("5.5", "t.1", "ana")


def test_several_presses_at_once_have_ids_of_their_own() -> None:
    actions = [{"action_id": "a", "value": "1"}, {"action_id": "b", "value": "2"}]
    found = read_presses({**PRESS, "actions": actions}, "default", {}, "T1")
    assert [(one.message_id, one.text) for one in found] == [("t.1", "1"), ("t.1/1", "2")]


@pytest.mark.parametrize(
    "changes", [{"type": "view_submission"}, {"actions": [{"action_id": "trunkline-link-0-0"}]}, {"actions": []}]
)
def test_an_interaction_without_a_press(changes: dict[str, Any]) -> None:
    assert read_presses({**PRESS, **changes}, "default", {}, "T1") == []


@pytest.mark.parametrize("changes", [{"user": {}}, {"channel": None}, {"trigger_id": 7}, {"message": {"ts": ""}}])
def test_an_unreadable_press(changes: dict[str, Any]) -> None:
    with pytest.raises(UnreadableUpdate):
        read_presses({**PRESS, **changes}, "default", {}, "T1")


def test_an_event_for_several_workspaces_is_for_ours_too() -> None:
    reader = SlackReader("default", OWN)
    shared = {"team_id": "T2", "authorizations": [{"team_id": "T1"}, 5], "event": EVENT}
    assert len(reader.event(shared, ME)) == 1
    with pytest.raises(OtherTeam):
        reader.event({"team_id": "T2", "event": EVENT}, ME)
    with pytest.raises(UnreadableUpdate):
        reader.event({"team_id": "T1"}, ME)


def test_the_ids_of_a_direct_conversation_are_learnt() -> None:
    reader = SlackReader("default", OWN)
    reader.event({"event": {**EVENT, "channel": "D7", "channel_type": "im"}}, ME)
    assert (reader.direct_of("u1"), reader.user_of("D7"), reader.direct_of("U2")) == ("D7", "U1", None)


def test_another_app_in_a_direct_conversation_is_not_its_person() -> None:
    """Else an answer to the person would seem to have gone to somebody else."""
    reader = SlackReader("default", OWN)
    direct = {**EVENT, "channel": "D7", "channel_type": "im"}
    reader.event({"event": direct}, ME)
    reader.event({"event": {**direct, "user": None, "bot_id": "B2", "subtype": "bot_message"}}, ME)
    assert (reader.user_of("D7"), reader.direct_of("B2")) == ("U1", None)
