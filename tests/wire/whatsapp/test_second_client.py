"""pywa, a client library of the Cloud API, reads the answers and the webhooks of our fake."""

import json
from typing import Any

from tests.support.wire.play import play
from tests.support.wire.second_clients import needs_second, run_second
from tests.support.wire.whatsapp import CLOUD, WhatsAppBench
from trunkline.core.values import Envelope, Peer
from trunkline.sim.scenario.model.faults import Fault
from trunkline.sim.wire.whatsapp.server import WebhookNumber, message_parts, signed, status_parts

CLIENT = """
import json, sys
import httpx
from pywa import WhatsApp, types

given = json.loads(sys.argv[1])
session = httpx.Client()
wa = WhatsApp(phone_id=given["id"], token=given["token"], session=session)
session.base_url = given["root"]
seen = []

def tried(call):
    try:
        return call()
    except Exception as error:
        return [type(error).__name__, getattr(error, "code", None)]

to = given["to"]
seen.append(wa.send_message(to, "a text").id)
seen.append(wa.send_message(to, "an answer", reply_to_message_id=seen[0]).id)
buttons = [types.Button(title="yes", callback_data="v-yes"), types.Button(title="no", callback_data="v-no")]
seen.append(wa.send_message(to, "a question", buttons=buttons).id)
seen.append(wa.send_image(to, "https://example.org/lamp.png", caption="a lamp").id)
media = wa.upload_media(b"%PDF", mime_type="application/pdf", filename="lamp.pdf")
seen.append(wa.send_document(to, media.id, filename="lamp.pdf").id)
wa.send_reaction(to, "\\U0001F44D", message_id=seen[0])
seen.append([str(wa.get_media_url(media.id).mime_type), wa.get_media_url(media.id).file_size])
print(json.dumps(seen))
"""

ERRORS = """
import json, sys
import httpx
from pywa import WhatsApp

given = json.loads(sys.argv[1])
seen = []
for token in (given["token"], "EAAwrong"):
    session = httpx.Client()
    wa = WhatsApp(phone_id=given["id"], token=token, session=session)
    session.base_url = given["root"]
    for to in given["to"]:
        try:
            seen.append(wa.send_message(to, "a text").id)
        except Exception as error:
            seen.append([type(error).__name__, error.code, error.status_code])
print(json.dumps(seen))
"""

WEBHOOKS = """
import json, sys
from pywa import WhatsApp, types, handlers
from pywa.utils import webhook_updates_validator

given = json.loads(sys.argv[1])
wa = WhatsApp(phone_id=given["id"], token="x", server=None, app_secret=given["secret"], validate_updates=False)
seen = []
wa.add_handlers(
    handlers.MessageHandler(lambda _, m: seen.append(["message", m.id, m.text, m.from_user.wa_id, m.from_user.name])),
    handlers.CallbackButtonHandler(
        lambda _, b: seen.append(["press", b.id, b.data, b.reply_to_message.message_id])
    ),
    handlers.MessageStatusHandler(lambda _, s: seen.append(["status", s.id, str(s.status.value), s.error.code])),
)
for body, signature in given["updates"]:
    seen.append(webhook_updates_validator(given["secret"], body.encode(), signature))
    wa.webhook_update_handler(body.encode())
print(json.dumps(seen))
"""


def facts(bench: WhatsAppBench, **more: Any) -> str:
    server = bench.server
    given = {"id": server.phone_number_id("default"), "token": server.token("default", 1), **more}
    return json.dumps(given | {"root": f"{server.url}/v23.0"})


@needs_second("pywa")
def test_its_requests_are_understood_and_its_answers_read() -> None:
    async def test(bench: WhatsAppBench) -> None:
        to = bench.places[1].conversation.removeprefix("+")
        *ids, file = await run_second("pywa", CLIENT, facts(bench, to=to))
        sent = bench._platform.board.sent
        assert ids == [one.id for one in sent]
        assert [one.text for one in sent] == ["a text", "an answer", "a question", "a lamp", ""]
        assert [one.request.reply_to for one in sent[:2]] == [None, ids[0]]
        assert sent[2].request.parts is not None
        assert [[one.text, one.value] for row in sent[2].request.parts.buttons for one in row] == [
            ["yes", "v-yes"],
            ["no", "v-no"],
        ]
        assert [one.media for one in sent[3:]] == [("https://example.org/lamp.png",), ("lamp.pdf",)]
        assert sent[0].emoji == ("👍",)
        assert file == ["application/pdf", 4]

    play(WhatsAppBench, test, CLOUD)


@needs_second("pywa")
def test_its_errors_are_those_of_the_codes() -> None:
    async def test(bench: WhatsAppBench) -> None:
        to = bench.places[1].conversation.removeprefix("+")
        for do in ("rate-limit", "refuse", "error"):
            bench._world.arm(Fault.model_validate({"on": "send", "do": do, "for": "7s"}))
        found = await run_second("pywa", ERRORS, facts(bench, to=[to, to, to]))
        assert found[:3] == [["RateLimitHit", 130429, 429], ["WhatsAppError", 100, 400], ["UnknownError", 131000, 500]]
        assert found[3:] == [["ExpiredAccessToken", 190, 401]] * 3
        bench.server.platform.window_seconds = 0.0
        [late, *_] = await run_second("pywa", ERRORS, facts(bench, to=[to]))
        assert late == ["ReEngagementMessage", 131047, 400]

    play(WhatsAppBench, test, CLOUD)


@needs_second("pywa")
def test_it_reads_our_webhooks_and_their_signatures() -> None:
    async def test(bench: WhatsAppBench) -> None:
        server = bench.server
        secret = server.app_secret("default")
        display = server.platform.bot_id("default")
        number = WebhookNumber(
            account="default", waba="1", id=server.phone_number_id("default"), display=display, secret=secret
        )
        place = bench.places[1]
        said = Envelope(
            address=place, peer=Peer(id=place.conversation, name="Ana"), message_id="wamid.1", text="hello", sent_at=0.0
        )
        pressed = Envelope(
            address=place, peer=said.peer, message_id="wamid.2", text="v-yes", sent_at=0.0, pressed="wamid.0"
        )
        error = {"code": 131047, "title": "Re-engagement message", "message": "Re-engagement message"}
        failed = status_parts("wamid.0", place.conversation, "failed", 1_700_000_002.0)
        failed["statuses"][0]["errors"] = [error]
        bodies = [
            number.body(**message_parts(said, 1_700_000_000.0)),
            number.body(**message_parts(pressed, 1_700_000_001.0)),
            number.body(**failed),
        ]
        updates = [(body.decode(), signed(secret, body)["X-Hub-Signature-256"]) for body in bodies]
        found = await run_second("pywa", WEBHOOKS, facts(bench, secret=secret, updates=updates))
        digits = place.conversation.removeprefix("+")
        assert found == [
            True,
            ["message", "wamid.1", "hello", digits, "Ana"],
            True,
            ["press", "wamid.2", "v-yes", "wamid.0"],
            True,
            ["status", "wamid.0", "failed", 131047],
        ]

    play(WhatsAppBench, test, CLOUD)
