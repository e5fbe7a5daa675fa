"""What an agent may put into a message depends on who shows it: the page of the web chat, or a bridge."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.chat import add_mailbox, say, web_chat
from tests.support.small_gateway import Echo
from trunkline import Turn
from trunkline.core.errors import UsageError

pytestmark = pytest.mark.anyio

POLL: dict[str, Any] = {"action": "poll", "pollQuestion": "Tea?", "pollOption": ["yes", "no"]}
BUTTONS: dict[str, Any] = {"action": "send", "message": "Tea?", "buttons": [[{"text": "Yes", "callback_data": "tea"}]]}


def calling(call: dict[str, Any], errors: list[str]) -> Echo:
    """An agent that makes a call for each message that is no press."""

    async def act(turn: Turn) -> str | None:
        if turn.text == "tea":
            return "here it is"
        try:
            await turn.message(call)
        except UsageError as error:
            errors.append(error.facts)
        return None

    return Echo(act)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (POLL, "Unsupported poll channel: webchat"),
        ({"action": "send", "message": "x", "card": {"type": "AdaptiveCard"}}, "a card"),
        ({"action": "edit", "messageId": "1", "message": "x"}, "Message action edit not supported for channel webchat"),
        ({"action": "delete", "messageId": "1"}, "Message action delete not supported for channel webchat"),
        ({"action": "react", "messageId": "1", "emoji": "+"}, "Message action react not supported for channel webchat"),
    ],
    ids=["poll", "card", "edit", "delete", "react"],
)
async def test_what_the_page_cannot_show_is_refused_and_not_stored(
    tmp_path: Path, call: dict[str, Any], says: str
) -> None:
    errors: list[str] = []
    async with web_chat(tmp_path / "gateway.db", agent=calling(call, errors)) as one:
        found = (await say(one, wait=True)).json()
        assert found["outbound_payloads"] == []
        assert len(errors) == 1
        assert says in errors[0]


async def test_a_bridge_gets_a_poll_as_data_where_its_platform_has_polls(tmp_path: Path) -> None:
    errors: list[str] = []
    async with web_chat(tmp_path / "gateway.db", agent=calling(POLL, errors)) as one:
        add_mailbox(one, "telegram")
        found = (await say(one, channel="telegram", wait=True)).json()
        assert (errors, found["outbound_payloads"][0]["poll"]["options"]) == ([], ["yes", "no"])
        [message] = (await one.http.get("/v1/chat/outbox", params={"channel": "telegram"})).json()["messages"]
        assert message["poll"] == {"question": "Tea?", "options": ["yes", "no"]}
        add_mailbox(one, "signal")
        assert (await say(one, channel="signal", wait=True)).json()["outbound_payloads"] == []
        assert errors == ["Unsupported poll channel: signal"]


async def test_a_bridge_says_which_button_was_pressed(tmp_path: Path) -> None:
    errors: list[str] = []
    async with web_chat(tmp_path / "gateway.db", agent=calling(BUTTONS, errors)) as one:
        add_mailbox(one, "telegram")
        await say(one, channel="telegram", wait=True)
        [message] = (await one.http.get("/v1/chat/outbox", params={"channel": "telegram"})).json()["messages"]
        [[button]] = message["parts"]["buttons"]
        press: dict[str, Any] = {"channel": "telegram", "pressed": message["n"], "wait": True}
        first = await say(one, button["value"], "press-1", **press)
        assert [payload["text"] for payload in first.json()["outbound_payloads"]] == ["here it is"]
        assert (await say(one, button["value"], "press-1", **press)).json()["duplicate"] is True
        for wrong in (0, -1, "1", 2**53):
            assert (await say(one, "tea", "press-2", channel="telegram", pressed=wrong)).status_code == 422
