"""When two requests ask for the same: all that people can see counts, and no key does."""

from typing import Any

import aiohttp
import pytest

from tests.attach.play.wired import PLATFORMS, Wired, on_the_wire
from trunkline.sim.events.wire import WireCalled

#: platform -> fields that change what people see, or where
SEEN: dict[str, list[dict[str, Any]]] = {
    "telegram": [
        {"parse_mode": "MarkdownV2"},
        {"parse_mode": "HTML"},
        {"entities": [{"type": "bold", "offset": 0, "length": 2}]},
        {"reply_markup": {"inline_keyboard": [[{"text": "yes", "callback_data": "y"}]]}},
        {"reply_parameters": {"message_id": 1, "allow_sending_without_reply": True}},
        {"link_preview_options": {"is_disabled": True}},
        {"disable_notification": True},
        {"a_field_of_next_year": 1},
    ],
    "discord": [
        {"flags": 4},
        {"embeds": [{"title": "a title"}]},
        {"allowed_mentions": {"parse": []}},
        {"message_reference": {"message_id": "1", "fail_if_not_exists": False}},
    ],
    "slack": [
        {"blocks": [{"type": "section", "text": {"type": "mrkdwn", "text": "*hi*"}}]},
        {"mrkdwn": False},
        {"unfurl_links": False},
        {"reply_broadcast": True},
    ],
    "matrix": [
        {"format": "org.matrix.custom.html", "formatted_body": "<b>hi</b>"},
        {"msgtype": "m.notice"},
        {"m.mentions": {"room": True}},
    ],
}


def called(wired: Wired) -> list[WireCalled]:
    return [event.body for event in wired.events if isinstance(event.body, WireCalled) and event.body.what == "send"]


@pytest.mark.parametrize("platform", PLATFORMS)
def test_what_people_see_makes_another_request_and_a_key_does_not(platform: str) -> None:
    async def test(wired: Wired) -> None:
        for number, more in enumerate([{}, {}, *SEEN[platform]]):
            await wired.send("hi", f"{platform}/ops", key=f"k{number}", **more)
        await wired.rest_of_the_world()
        first, again, *others = (body.digest for body in called(wired))
        assert first == again
        assert len({first, *others}) == 1 + len(SEEN[platform])

    on_the_wire(platform, [], test)


def test_the_trace_has_the_fields_of_a_request_and_not_its_secrets() -> None:
    async def test(wired: Wired) -> None:
        await wired.send("*hi*", "telegram/ops", parse_mode="MarkdownV2", entities=[{"type": "bold"}])
        await wired.rest_of_the_world()
        (body,) = called(wired)
        assert (body.text, body.fields["parse_mode"]) == ("hi", "MarkdownV2")
        assert body.fields["text"] == "*hi*"
        assert wired.token not in str(body)

    on_the_wire("telegram", [], test)


def test_a_form_and_a_file_count_by_what_is_in_them() -> None:
    async def test(wired: Wired) -> None:
        for content, name in ((b"one", "a.txt"), (b"one", "a.txt"), (b"two", "a.txt"), (b"one", "b.txt")):
            form = aiohttp.FormData({"payload_json": f'{{"content": "hi", "nonce": "{len(called(wired))}"}}'})
            form.add_field("files[0]", content, filename=name)
            url = f"{wired.url}/api/v10/channels/{wired.world.address('discord/ops').conversation}/messages"
            async with wired.http.post(url, data=form, headers={"Authorization": f"Bot {wired.token}"}) as response:
                assert response.status == 200
        first, again, *others = (body.digest for body in called(wired))
        assert first == again
        assert len({first, *others}) == 3

    on_the_wire("discord", [], test)
