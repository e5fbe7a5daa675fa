"""The Bot API: every answer has the type that grammY's declarations of the Bot API give its method."""

from typing import Any

import pytest

from tests.support.wire.descriptions import RecordedAnswer, contradictions, needs_descriptions
from tests.support.wire.recording import Recording, recorded

IMPORTS = """\
import type { ApiError, ApiMethods } from "@grammyjs/types";
type Methods = ApiMethods<never>;
type Ok<M extends keyof Methods> = { ok: true; result: Awaited<ReturnType<Methods[M]>> };
"""

pytestmark = needs_descriptions


async def tour(here: Recording) -> None:
    """A bot in a topic, in a group and with one person: messages, changes, polls, files, buttons, errors."""
    got = 0

    async def call(method: str, type: str = "", **body: Any) -> Any:  # noqa: A002 -- the word
        found = await here.ask(type or f'Ok<"{method}">', "POST", f"/bot{here.token}/{method}", json=body)
        return found.get("result")

    async def update() -> Any:
        nonlocal got
        found = await call("getUpdates", timeout=5, offset=got)
        got = found[-1]["update_id"] + 1
        return found[-1]

    await call("getMe")
    await call("getWebhookInfo")
    await call("deleteWebhook")
    here.fakes.play({"as": "ana", "in": "telegram/ops/deploy", "say": "is it out?"})
    asked = (await update())["message"]
    chat, topic = asked["chat"]["id"], asked["message_thread_id"]
    place = {"chat_id": chat, "message_thread_id": topic}
    keyboard = {"inline_keyboard": [[{"text": "Yes", "callback_data": "y"}]]}
    sent = await call("sendMessage", text="<b>sure</b>?", parse_mode="HTML", reply_markup=keyboard, **place)
    here.fakes.play({"as": "ana", "in": "telegram/ops/deploy", "press": "Yes"})
    pressed = (await update())["callback_query"]
    await call("answerCallbackQuery", callback_query_id=pressed["id"])
    of = {"chat_id": chat, "message_id": sent["message_id"]}
    await call("sendMessage", text="yes", reply_parameters={"message_id": sent["message_id"]}, **place)
    await call("editMessageText", text="it is", **of)
    await call("setMessageReaction", reaction=[{"type": "emoji", "emoji": "👍"}], **of)
    await call("pinChatMessage", **of)
    await call("sendPoll", question="when?", options=[{"text": "now"}, {"text": "later"}], **place)
    await call("sendChatAction", action="typing", **place)
    # General has a number for typing only.
    await call("sendChatAction", action="typing", chat_id=chat, message_thread_id=1)
    await call("sendMessage", "ApiError", chat_id=chat, text="in General", message_thread_id=1)
    await call("getChat", chat_id=chat)
    opened = await call("createForumTopic", chat_id=chat, name="release")
    await call("closeForumTopic", chat_id=chat, message_thread_id=opened["message_thread_id"])
    await call("deleteMessage", **of)
    here.fakes.play({"as": "ben", "in": "telegram/@ben", "say": "hi"})
    alone = (await update())["message"]
    await call("sendMessage", chat_id=alone["chat"]["id"], text="hello")
    await call("sendMessage", "ApiError", chat_id=chat, text="x" * 5000)
    await call("sendMessage", "ApiError", chat_id=-1, text="nobody")
    here.fakes.play({"fault": {"on": "send", "do": "rate-limit", "for": "3s"}})
    await call("sendMessage", "ApiError", text="too many", **place)
    await here.ask("ApiError", "POST", "/bot1:wrong/getMe", json={})


def test_every_answer_has_its_published_type() -> None:
    answers = recorded("telegram", tour)
    assert len(answers) > 20
    assert contradictions(IMPORTS, answers) == []


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({"ok": True, "result": {"id": "5", "is_bot": True, "first_name": "x"}}, "not assignable"),
        ({"ok": True, "result": {"id": 5, "is_bot": True, "invented": 1}}, "invented"),
        ({"ok": True, "result": {"is_bot": True, "first_name": "x"}}, "missing"),
        ({"ok": False, "error_code": 400}, "not assignable"),
    ],
    ids=["wrong type", "unknown field", "missing field", "an error"],
)
def test_an_answer_of_another_type_is_found(value: Any, says: str) -> None:
    [found] = contradictions(IMPORTS, [RecordedAnswer('Ok<"getMe">', value, "getMe")])
    assert found.startswith("getMe: ")
    assert says in found
