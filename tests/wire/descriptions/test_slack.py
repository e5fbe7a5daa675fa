"""Slack's Web API: every answer has the type that Slack's own library for Node.js gives its method.

Slack publishes its types from what it has seen, so every field is optional there: what is checked are the types of
fields, and the names of those inside messages, users and channels.
"""

from typing import Any

import pytest

from tests.support.wire.descriptions import RecordedAnswer, contradictions, needs_descriptions
from tests.support.wire.recording import Recording, recorded

IMPORTS = 'import type * as S from "@slack/web-api";\n'

pytestmark = needs_descriptions


async def tour(here: Recording) -> None:
    """An app in a channel and in a thread: messages, changes, reactions, questions, errors."""
    head = {"Authorization": f"Bearer {here.token}"}

    async def call(type: str, method: str, **body: Any) -> Any:  # noqa: A002 -- the word
        return await here.ask(f"S.{type}Response", "POST", f"/api/{method}", json=body, headers=head)

    world = here.fakes.world
    channel = world.address("slack/ops").conversation
    here.fakes.play({"as": "ana", "in": "slack/ops", "say": "is it out?"})
    await call("AuthTest", "auth.test")
    sent = await call("ChatPostMessage", "chat.postMessage", channel=channel, text="it is")
    of = {"channel": channel, "ts": sent["ts"]}
    await call("ChatPostMessage", "chat.postMessage", channel=channel, text="in a thread", thread_ts=sent["ts"])
    await call("ChatUpdate", "chat.update", text="it was", **of)
    await call("ReactionsAdd", "reactions.add", channel=channel, timestamp=sent["ts"], name="thumbsup")
    await call("ConversationsInfo", "conversations.info", channel=channel)
    await call("ConversationsHistory", "conversations.history", channel=channel)
    await call("ConversationsReplies", "conversations.replies", **of)
    await call("UsersInfo", "users.info", user=world.peer("slack", "ana").id)
    await call("ChatDelete", "chat.delete", **of)
    await call("ChatPostMessage", "chat.postMessage", channel="C000NOBODY", text="nobody")
    here.fakes.play({"fault": {"on": "send", "do": "rate-limit", "for": "2s"}})
    await call("ChatPostMessage", "chat.postMessage", channel=channel, text="too many")


def test_every_answer_has_its_published_type() -> None:
    answers = recorded("slack", tour)
    assert len(answers) > 10
    assert contradictions(IMPORTS, answers) == []


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({"ok": "yes"}, "not assignable"),
        ({"ok": True, "message": {"text": 5}}, "not assignable"),
        ({"ok": True, "message": {"txt": "x"}}, "txt"),
        ({"error": "channel_not_found"}, "missing"),
    ],
    ids=["wrong type", "wrong type inside", "unknown field inside", "missing field"],
)
def test_an_answer_of_another_type_is_found(value: Any, says: str) -> None:
    [found] = contradictions(IMPORTS, [RecordedAnswer("S.ChatPostMessageResponse", value, "a post")])
    assert found.startswith("a post: ")
    assert says in found
