"""Files, polls and markup on fake platforms; WhatsApp and Signal."""

from typing import Any

import pytest

from tests.support.contract.stage import ALL, Stage, attempt, play, request
from tests.support.for_each import for_each
from trunkline.core.errors import Refused
from trunkline.core.values import (
    Address,
    Capability,
    ChatKind,
    DeliveryMode,
    Idempotency,
    Markup,
    Poll,
    Receipt,
    Style,
    StyleKind,
    Transport,
)
from trunkline.sim.events.wire import WireAccepted

POLL = Poll(question="Which lamp?", options=("red", "green"))


# ---------------------------------------------------------------- what is sent beside a text


@for_each("platform", ALL)
@for_each(
    ("capability", "fields"),
    [
        (Capability.MEDIA, {"media": ("https://example.org/lamp.png",)}),
        (Capability.POLL, {"poll": POLL}),
        (Capability.PAYLOAD, {"payload": '{"buttons": []}'}),
    ],
)
def test_what_an_account_cannot_send_is_refused(platform: str, capability: Capability, fields: dict[str, Any]) -> None:
    async def test(stage: Stage) -> None:
        adapter = stage.adapter(platform)
        sent = await attempt(
            adapter, stage.place(f"{platform}/mine"), transport=adapter.capabilities.mode.first, **fields
        )
        assert isinstance(sent, Receipt if capability in adapter.capabilities.can else Refused)
        assert len(stage.recorded(WireAccepted)) == isinstance(sent, Receipt)

    play(test)


def test_a_file_can_take_capabilities_away() -> None:
    async def test(stage: Stage) -> None:
        adapter = stage.adapter("discord")
        assert not {Capability.MEDIA, Capability.POLL, Capability.THREADS} & adapter.capabilities.can
        assert (adapter.capabilities.poll_options, adapter.capabilities.opens_threads) == (None, False)
        assert isinstance(await attempt(adapter, stage.place("discord/mine"), media=("a.png",)), Refused)

    play(test, {"discord": "cannot: [media, poll, threads]"})


@pytest.mark.parametrize(("platform", "most"), [("discord", 10), ("telegram", 12), ("whatsapp", 12)])
def test_a_poll_has_as_many_options_as_its_platform_takes(platform: str, most: int) -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter(platform), stage.place(f"{platform}/mine")
        assert adapter.capabilities.poll_options == most
        options = tuple(f"option {n}" for n in range(most + 1))
        sent = request(place, poll=Poll(question="Which?", options=options[:-1]))
        await adapter.send(sent)
        with pytest.raises(Refused, match=f"a poll with more than {most} options"):
            await adapter.send(request(place, key="k2/0", poll=Poll(question="Which?", options=options)))
        assert [body.poll for body in stage.recorded(WireAccepted)] == [("Which?", *options[:-1])]

    play(test)


def test_a_payload_that_is_no_json_is_refused() -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter("telegram"), stage.place("telegram/mine")
        with pytest.raises(Refused, match="the payload is no JSON"):
            await adapter.send(request(place, payload="{buttons}"))
        await adapter.send(request(place, payload='{"buttons": []}'))
        assert [body.payload for body in stage.recorded(WireAccepted)] == ['{"buttons": []}']

    play(test)


@for_each(
    ("html", "passes"),
    [
        ("<b>bold</b> &amp; <i>more</i>", True),
        ('a <a href="https://example.org">link</a> <pre><code class="language-py">x &lt; 1</code></pre>', True),
        ("<tg-spoiler>x</tg-spoiler><blockquote>q</blockquote>&#128161;", True),
        ("a &mdash; b & c", True),
        ("<b>bold", False),
        ("<b><i>x</b></i>", False),
        ("x</b>", False),
        ("<p>x</p>", False),
        ("1 < 2", False),
        ("<!-- x -->", False),
        ("<script>x</script>", False),
        ("<br>", False),
    ],
)
def test_telegram_takes_html_that_it_can_parse(html: str, passes: bool) -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter("telegram"), stage.place("telegram/mine")
        assert adapter.capabilities.markup is Markup.HTML
        sent = await attempt(adapter, place, text="what was meant", html=html)
        if passes:
            assert [body.text for body in stage.recorded(WireAccepted)] == ["what was meant"]
            [message] = stage.world.platforms["telegram"].board.sent
            assert message.request.html == html
        else:
            assert isinstance(sent, Refused) and "cannot parse entities" in str(sent)

    play(test)


def test_telegram_counts_what_is_visible() -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter("telegram"), stage.place("telegram/mine")
        limit = adapter.capabilities.text_limit
        markup = f"<b>{'&amp;' * limit}</b>"
        assert isinstance(await attempt(adapter, place, text="**" + "&" * limit + "**", html=markup), Receipt)
        longer = await attempt(adapter, place, key="k2/0", text="short", html=markup + "x")
        assert isinstance(longer, Refused) and "longer than" in str(longer)

    play(test)


@for_each(
    ("start", "length", "passes"),
    [(0, 4, True), (5, 2, True), (5, 3, False), (-1, 2, False), (0, 0, False), (7, 1, False)],
)
def test_signal_keeps_styles_and_counts_them_in_utf_16(start: int, length: int, passes: bool) -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter("signal"), stage.place("signal/mine")
        assert adapter.capabilities.markup is Markup.STYLED
        styles = (Style(kind=StyleKind.BOLD, start=start, length=length),)
        # Five units before the lamp, which is two.
        sent = await attempt(adapter, place, text="lamp 💡", styles=styles)
        assert isinstance(sent, Receipt if passes else Refused)
        kept = [message.request.styles for message in stage.world.platforms["signal"].board.sent]
        assert kept == ([styles] if passes else [])

    play(test)


# ---------------------------------------------------------------- WhatsApp and Signal


def test_whatsapp_is_served_by_the_gateway_path_and_knows_neither_keys_nor_look_up() -> None:
    async def test(stage: Stage) -> None:
        can = stage.adapter("whatsapp").capabilities
        assert (can.mode, can.idempotency) == (DeliveryMode.GATEWAY, Idempotency.NONE)
        assert Capability.THREADS not in can.can
        await stage.adapter("whatsapp").send(request(stage.place("whatsapp/mine")))
        assert [body.transport for body in stage.recorded(WireAccepted)] == [Transport.GATEWAY]

    play(test)


def test_a_phone_number_and_its_jids_are_one_conversation_on_whatsapp() -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter("whatsapp"), stage.place("whatsapp:default/@ana")
        digits = place.conversation[1:]
        names = (f"{digits}@s.whatsapp.net", f"{digits}:7@s.whatsapp.net", f"{digits}@c.us", digits)
        for number, name in enumerate(names):
            other = Address(channel="whatsapp", account="default", kind=ChatKind.DIRECT, conversation=name)
            assert (await adapter.send(request(other, key=f"k{number}/0"))).address == place
        group = stage.place("whatsapp/mine")
        loud = Address(
            channel="whatsapp", account="default", kind=ChatKind.GROUP, conversation=group.conversation.upper()
        )
        assert (await adapter.send(request(loud, key="k9/0"))).address == group

    play(test)


def test_signal_s_messages_are_times_and_never_the_same_in_a_conversation() -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter("signal"), stage.place("signal/mine")
        said = [stage.say(f"m{n}", "signal/mine") for n in range(3)]
        sent = [(await adapter.send(request(place, key=f"k{n}/0"))).provider_id for n in range(3)]
        assert len({*said, *sent}) == 6
        assert all(abs(int(one) - 1_700_000_000_000) < 10_000 for one in (*said, *sent))

    play(test)
