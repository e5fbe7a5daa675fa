"""The bodies of messages and changes, and what comes in."""

import json
from typing import Any

import msgspec
import pytest

from tests.support.for_each import for_each
from trunkline.core.action_catalogue import Action
from trunkline.core.actions.requests import ActionRequest
from trunkline.core.adapters.discord.actions.action_desk import CHANGES, WantedChange, call_of, presence_of
from trunkline.core.adapters.discord.actions.questions import QUESTIONS, permissions_in
from trunkline.core.adapters.discord.bodies import message_body
from trunkline.core.adapters.discord.calls import RestCall, UploadFile, at, nonce_of
from trunkline.core.channels import rules_for
from trunkline.core.errors import Refused
from trunkline.core.message_parts import Button, MessageParts
from trunkline.core.values import Address, ChatKind, Identity, IntentId, Poll, SendRequest

PLACE = Address(channel="discord", account="default", kind=ChatKind.CHANNEL, conversation="12")


def send(text: str = "hello", **fields: Any) -> SendRequest:
    return SendRequest(address=PLACE, text=text, key="k/0", intent=IntentId("k"), chunk=0, attempt=1, **fields)


def body(**fields: Any) -> dict[str, Any]:
    return message_body(send(**fields), ("users",))


def call(action: Action, fields: dict[str, Any], text: str = "", message: str | None = None, **more: Any) -> RestCall:
    request = ActionRequest(
        action=action, address=PLACE, key="k", intent=IntentId("k"), attempt=1, text=text, message_id=message
    )
    request = msgspec.structs.replace(request, remove=more.pop("remove", False))
    return call_of(WantedChange(request=request, fields=fields, channel="12", now=0.0, **more))


def test_the_nonce_is_the_same_in_every_process_and_fits() -> None:
    assert nonce_of("k/0") == nonce_of("k/0") != nonce_of("k/1")
    assert nonce_of("k" * 5000).isascii()
    assert len(nonce_of("\ud83d")) == 24


def test_a_plain_message() -> None:
    assert body() == {
        "content": "hello",
        "nonce": nonce_of("k/0"),
        "enforce_nonce": True,
        "allowed_mentions": {"parse": ["users"], "replied_user": True},
    }


def test_a_webhook_has_a_name_and_no_nonce() -> None:
    found = body(identity=Identity(id="1", name="bot"), reply_to="5")
    assert set(found) == {"content", "username", "allowed_mentions"}
    with pytest.raises(Refused, match="sticker"):
        body(identity=Identity(id="1", name="bot"), parts=MessageParts(sticker="7"))


def test_a_payload_never_replaces_text_key_or_mentions() -> None:
    own = {
        "content": "x",
        "nonce": "x",
        "enforce_nonce": False,
        "allowed_mentions": {"parse": ["everyone"]},
        "tts": True,
    }
    assert body(payload=json.dumps(own)) == {**body(), "tts": True}


@pytest.mark.parametrize("payload", ["[1]", "{", '"x"', "null"])
def test_a_payload_is_an_object(payload: str) -> None:
    with pytest.raises(Refused):
        body(payload=payload)


def test_parts() -> None:
    parts = MessageParts(silent=True, embed="from ops", sticker="7", buttons=((Button(text="a", value="b"),),))
    found = body(parts=parts)
    assert (found["flags"], found["embeds"], found["sticker_ids"]) == (4096, [{"description": "from ops"}], ["7"])
    assert found["components"] == [{"type": 1, "components": [{"type": 2, "style": 2, "label": "a", "custom_id": "b"}]}]


@pytest.mark.parametrize(
    "components",
    [
        '[{"type": 1, "components": []}]',
        '{"components": [{"type": 1, "components": []}]}',
        '{"type": 1, "components": []}',
    ],
)
def test_components_in_each_form(components: str) -> None:
    assert body(parts=MessageParts(components=components))["components"] == [{"type": 1, "components": []}]


def test_more_buttons_than_a_message_has() -> None:
    with pytest.raises(Refused, match="buttons"):
        body(parts=MessageParts(buttons=tuple((Button(text="x"),) for _ in range(6))))


def test_a_poll() -> None:
    found = body(poll=Poll(question="Which?", options=("a", "b"), max_selections=2, duration_hours=3))
    assert found["poll"] == {
        "question": {"text": "Which?"},
        "answers": [{"poll_media": {"text": "a"}}, {"poll_media": {"text": "b"}}],
        "allow_multiselect": True,
        "layout_type": 1,
        "duration": 3,
    }


def test_a_path_is_quoted() -> None:
    assert at("channels", "../../users/@me", "\ud83d") == "/channels/..%2F..%2Fusers%2F@me/%3F"


def test_every_action_of_the_channel_is_a_request_a_question_or_a_message() -> None:
    messages = {Action.SEND, Action.POLL, Action.REPLY, Action.THREAD_REPLY, Action.SEND_ATTACHMENT, Action.UPLOAD_FILE}
    others = {*messages, Action.STICKER, Action.SET_PRESENCE}
    assert set(rules_for("discord").actions) == {*CHANGES, *QUESTIONS, *others}


FILE = UploadFile(name="lamp.png", type="image/png", content=b"x")
GUILD = {"guildId": "3", "userId": "4", "roleId": "5", "reason": "zäh"}


@for_each(
    ("action", "fields", "expected"),
    [
        (Action.TIMEOUT, {**GUILD, "durationMin": 1}, ("PATCH", "/guilds/3/members/4")),
        (Action.KICK, GUILD, ("DELETE", "/guilds/3/members/4")),
        (Action.BAN, GUILD, ("PUT", "/guilds/3/bans/4")),
        (Action.ROLE_ADD, GUILD, ("PUT", "/guilds/3/members/4/roles/5")),
        (Action.ROLE_REMOVE, GUILD, ("DELETE", "/guilds/3/members/4/roles/5")),
        (Action.CHANNEL_CREATE, {**GUILD, "name": "ops"}, ("POST", "/guilds/3/channels")),
        (Action.CHANNEL_EDIT, {"name": "ops"}, ("PATCH", "/channels/12")),
        (Action.CHANNEL_MOVE, {"position": 1, "channelId": "9"}, ("PATCH", "/channels/9")),
        (Action.CHANNEL_DELETE, {}, ("DELETE", "/channels/12")),
        (Action.CATEGORY_CREATE, {**GUILD, "name": "ops"}, ("POST", "/guilds/3/channels")),
        (Action.CATEGORY_DELETE, {"categoryId": "9"}, ("DELETE", "/channels/9")),
        (Action.EVENT_CREATE, {**GUILD, "eventName": "x", "startTime": "t"}, ("POST", "/guilds/3/scheduled-events")),
        (Action.EMOJI_UPLOAD, {**GUILD, "emojiName": "lamp"}, ("POST", "/guilds/3/emojis")),
    ],
)
def test_changes_of_a_server(action: Action, fields: dict[str, Any], expected: tuple[str, str]) -> None:
    found = call(action, fields, file=FILE)
    assert (found.method, found.path) == expected


def test_a_timeout_ends_at_a_time() -> None:
    found = call(Action.TIMEOUT, {**GUILD, "durationMin": 2})
    assert found.json == {"communication_disabled_until": "1970-01-01T00:02:00+00:00"}
    assert call(Action.TIMEOUT, {**GUILD, "durationMin": 0}).json == {"communication_disabled_until": None}
    with pytest.raises(Refused, match="no time"):
        call(Action.TIMEOUT, {**GUILD, "durationMin": 1e300})


@pytest.mark.parametrize(
    ("action", "fields"),
    [(Action.KICK, {"guildId": "3"}), (Action.EMOJI_UPLOAD, {**GUILD, "emojiName": "x"}), (Action.EDIT, {})],
)
def test_what_is_missing_is_refused(action: Action, fields: dict[str, Any]) -> None:
    with pytest.raises(Refused, match="is missing"):
        call(action, fields)


def test_an_action_that_discord_has_not() -> None:
    with pytest.raises(Refused, match="there is no"):
        call(Action.TOPIC_EDIT, {})


def test_a_reaction_of_the_server() -> None:
    assert call(Action.REACT, {}, "<a:lamp:77>", "5").path.endswith("/reactions/lamp%3A77/@me")
    assert call(Action.REACT, {}, "x", "5", remove=True).method == "DELETE"


def test_presences() -> None:
    found = presence_of({"status": "idle", "activityName": "chess"})["d"]
    assert (found["status"], found["activities"]) == ("idle", [{"name": "chess", "type": 0}])
    with pytest.raises(Refused, match="status"):
        presence_of({"status": "away"})


def test_permissions_by_roles_and_overwrites() -> None:
    roles = [{"id": "1", "permissions": str(1 << 11)}, {"id": "2", "permissions": str(1 << 13)}]
    deny = [{"id": "1", "deny": str(1 << 11), "allow": "0"}, {"id": "9", "allow": str(1 << 15), "deny": "0"}]
    assert permissions_in("1", "9", ("2",), roles, []) == ("send-messages", "manage-messages")
    assert permissions_in("1", "9", ("2",), roles, deny) == ("manage-messages", "attach-files")
    assert "send-messages" in permissions_in("1", "9", ("2",), [{"id": "2", "permissions": "8"}], deny)
