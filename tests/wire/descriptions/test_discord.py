"""Discord's REST API: every answer has the type that discord-api-types gives its route."""

from typing import Any

import pytest

from tests.support.wire.descriptions import RecordedAnswer, contradictions, needs_descriptions
from tests.support.wire.recording import Recording, recorded

IMPORTS = """\
import type * as D from "discord-api-types/v10";
// Discord's own example of a direct channel has no name.
type DirectChannel = Omit<D.RESTPostAPICurrentUserCreateDMChannelResult, "name">;
"""

pytestmark = needs_descriptions


async def tour(here: Recording) -> None:
    """A bot in a channel, in a thread and with one person: messages, changes, reactions, webhooks, errors."""
    head = {"Authorization": f"Bot {here.token}"}

    async def call(type: str, method: str, path: str, body: Any = None) -> Any:  # noqa: A002 -- the word
        return await here.ask(f"D.{type}", method, f"/api/v10{path}", json=body, headers=head)

    await call("RESTGetAPICurrentUserResult", "GET", "/users/@me")
    await call("RESTGetAPIGatewayBotResult", "GET", "/gateway/bot")
    world = here.fakes.world
    room = world.address("discord/ops").conversation
    direct = world.address("discord/@ana")
    channel = f"/channels/{room}"
    await call("RESTGetAPIChannelResult", "GET", channel)
    here.fakes.play({"as": "ana", "in": "discord/ops", "say": "hello"})
    said = {"content": "hi", "nonce": "n1", "enforce_nonce": True}
    sent = await call("RESTPostAPIChannelMessageResult", "POST", f"{channel}/messages", said)
    await call("RESTPostAPIChannelMessageResult", "POST", f"{channel}/messages", said)
    message = f"{channel}/messages/{sent['id']}"
    reply = {"content": "yes", "message_reference": {"message_id": sent["id"]}}
    await call("RESTPostAPIChannelMessageResult", "POST", f"{channel}/messages", reply)
    await call("RESTPatchAPIChannelMessageResult", "PATCH", message, {"content": "hi all"})
    await call("RESTGetAPIChannelMessageResult", "GET", message)
    await call("RESTGetAPIChannelMessagesResult", "GET", f"{channel}/messages?limit=5")
    await call("RESTPutAPIChannelMessageReactionResult", "PUT", f"{message}/reactions/%F0%9F%91%8D/@me")
    thread = await call("RESTPostAPIChannelMessagesThreadsResult", "POST", f"{message}/threads", {"name": "deploy it"})
    await call("RESTPostAPIChannelMessageResult", "POST", f"/channels/{thread['id']}/messages", {"content": "in it"})
    to = {"recipient_id": direct.conversation}
    alone = await here.ask("DirectChannel", "POST", "/api/v10/users/@me/channels", json=to, headers=head)
    await call("RESTPostAPIChannelMessageResult", "POST", f"/channels/{alone['id']}/messages", {"content": "psst"})
    hook = await call("RESTPostAPIChannelWebhookResult", "POST", f"{channel}/webhooks", {"name": "ops bot"})
    await call("RESTGetAPIChannelWebhooksResult", "GET", f"{channel}/webhooks")
    posted = f"/webhooks/{hook['id']}/{hook['token']}?wait=true"
    await call("RESTPostAPIWebhookWithTokenWaitResult", "POST", posted, {"content": "by webhook"})
    await call("RESTDeleteAPIChannelMessageResult", "DELETE", message)
    await call("RESTError", "GET", "/channels/1")
    await call("RESTError", "POST", f"{channel}/messages", {"content": "x" * 3000})
    here.fakes.play({"fault": {"on": "send", "do": "rate-limit", "for": "2s"}})
    await call("RESTRateLimit", "POST", f"{channel}/messages", {"content": "too many"})
    await here.ask("D.RESTError", "GET", "/api/v10/users/@me", headers={"Authorization": "Bot wrong"})


def test_every_answer_has_its_published_type() -> None:
    answers = recorded("discord", tour)
    assert len(answers) > 18
    assert contradictions(IMPORTS, answers) == []


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({"code": "10003", "message": "Unknown Channel"}, "not assignable"),
        ({"message": "Unknown Channel"}, "missing"),
        ({"code": 10003, "message": "Unknown Channel", "invented": 1}, "invented"),
    ],
    ids=["wrong type", "missing field", "unknown field"],
)
def test_an_answer_of_another_type_is_found(value: Any, says: str) -> None:
    [found] = contradictions(IMPORTS, [RecordedAnswer("D.RESTError", value, "an error")])
    assert found.startswith("an error: ")
    assert says in found
