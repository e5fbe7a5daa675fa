"""Refusals in the words of the real platforms: by exactly these a gateway decides what it does next."""

# The kind of an event says which body it has.
# pyright: reportAttributeAccessIssue=false

import json

import pytest

from tests.attach.play.wired import _REQUESTS, Wired, on_the_wire
from trunkline.core.reasons import Reason
from trunkline.sim.scenario import ScenarioError
from trunkline.sim.scenario.load import load_text

#: platform and refusal -> status, and what the body has
WORDS = {
    ("telegram", "blocked"): (403, "Forbidden: bot was blocked by the user"),
    ("telegram", "chat-not-found"): (400, "Bad Request: chat not found"),
    ("telegram", "kicked"): (403, "Forbidden: bot was kicked from the supergroup chat"),
    ("telegram", "cant-parse"): (400, "Bad Request: can't parse entities: Can't find end of the entity"),
    ("telegram", "too-long"): (400, "Bad Request: message is too long"),
    ("telegram", ""): (400, "Bad Request: not enough rights to send text messages to the chat"),
    ("discord", "blocked"): (403, '{"message":"Cannot send messages to this user","code":50007}'),
    ("discord", "chat-not-found"): (404, '{"message":"Unknown Channel","code":10003}'),
    ("discord", "kicked"): (403, '{"message":"Missing Access","code":50001}'),
    ("discord", "too-long"): (400, "Must be 2000 or fewer in length."),
    ("discord", "cant-parse"): (400, '"code":50035'),
    ("discord", ""): (403, '{"message":"Missing Permissions","code":50013}'),
    ("slack", "chat-not-found"): (200, "channel_not_found"),
    ("slack", "too-long"): (200, "msg_too_long"),
    ("slack", "cant-parse"): (200, "invalid_blocks"),
    ("slack", "kicked"): (200, "not_in_channel"),
    ("slack", "blocked"): (200, "messages_tab_disabled"),
    ("slack", ""): (200, "restricted_action"),
    ("matrix", "too-long"): (413, "M_TOO_LARGE"),
    ("matrix", "kicked"): (403, "M_FORBIDDEN"),
    ("matrix", "cant-parse"): (400, "M_BAD_JSON"),
    ("matrix", ""): (403, "M_FORBIDDEN"),
}


@pytest.mark.parametrize(("platform", "name"), WORDS)
def test_a_refusal_has_the_status_and_the_words_of_its_platform(platform: str, name: str) -> None:
    async def test(wired: Wired) -> None:
        request = _REQUESTS[platform](wired.world.address(f"{platform}/ops"), "hi", "k1", wired.token)
        method, path, body, headers = request
        async with wired.http.request(method, f"{wired.url}{path}", json=body, headers=headers) as response:
            status, words = WORDS[platform, name]
            assert response.status == status
            assert words in (await response.text())
        await wired.rest_of_the_world()
        (refused,) = [event.body for event in wired.events if event.kind == "wire.refused"]
        gone = name in ("blocked", "chat-not-found", "kicked")
        assert refused.reason is (Reason.PLACE_GONE if gone else Reason.REFUSED)

    given = f", as: {name}" if name else ""
    on_the_wire(platform, [f"at: 0s, fault: {{on: send, do: refuse{given}}}"], test)


def test_what_discord_says_has_no_words_of_ours() -> None:
    async def test(wired: Wired) -> None:
        url, headers = f"{wired.url}/api/v10/channels/404/messages", {"Authorization": f"Bot {wired.token}"}
        async with wired.http.post(url, json={"content": "hi"}, headers=headers) as response:
            assert json.loads(await response.text()) == {"message": "Unknown Channel", "code": 10003}

    on_the_wire("discord", [], test)


def test_words_go_with_a_refusal_of_what_is_sent() -> None:
    head = "scenario: 1\ntitle: t\nworld: {people: [ana], telegram: {}}\ncast: {agents: {main: [{do: [{reply: x}]}]}}\n"
    for fault, says in (("do: error, as: blocked", "goes with `do: refuse` only"), ("do: refuse, as: bloked", "as")):
        with pytest.raises(ScenarioError, match=says):
            load_text(f"{head}script: [{{at: 0s, fault: {{on: send, {fault}}}}}]\n", "t.yaml")
