"""The stream of events: what comes again, and what does not, when one of both ends goes away."""

import asyncio
from typing import Any

from tests.support.wire.play import message, outcome, play, reading, recorded, until
from tests.support.wire.signal import SignalBench
from trunkline.core.action_catalogue import Action
from trunkline.core.actions.requests import ActionRequest
from trunkline.core.errors import NotSent, Refused
from trunkline.core.events.adapters import UpdateDropped
from trunkline.core.reasons import Reason
from trunkline.core.values import IntentId, Receipt


class ImpatientBench(SignalBench):
    """An account that soon takes silence for the end."""

    config = SignalBench.config | {"silence": 0.8}


def test_the_next_process_gets_what_was_not_durable() -> None:
    async def test(bench: SignalBench) -> None:
        async with reading(bench, acks=False) as found:
            for text in ("one", "two", "three"):
                await bench.say(bench.places[0], text)
                await found.until(lambda text=text: text in found.texts)
            await bench.real.ack(found.got[0])
        await bench.restart()
        async with reading(bench) as found:
            await found.until(lambda: found.texts == ["two", "three"])
            await bench.say(bench.places[0], "four")
            await found.until(lambda: "four" in found.texts)
        await bench.restart()
        async with reading(bench) as found:
            await asyncio.sleep(0.3)
            assert found.texts == []

    play(SignalBench, test)


def test_what_is_said_while_nobody_listens_waits_at_signal() -> None:
    async def test(bench: SignalBench) -> None:
        async with reading(bench):
            pass
        await bench.say(bench.places[0], "is anybody there")
        await asyncio.sleep(0.3)
        async with reading(bench) as found:
            await found.until(lambda: found.texts == ["is anybody there"])

    play(SignalBench, test)


def test_a_daemon_that_starts_again_has_forgotten_what_it_had_received() -> None:
    """The limit that the page of Signal states: it had acknowledged the message to Signal already."""

    async def test(bench: SignalBench) -> None:
        async with reading(bench, acks=False) as found:
            await bench.say(bench.places[0], "received, and not durable")
            await found.until(lambda: found.got)
            await bench.server.close()
            bench.server.feeds.clear()
            bench.server.run += 1
            await found.until(lambda: found.error)
            assert isinstance(found.error, NotSent)
        async with reading(bench) as found:
            await bench.say(bench.places[0], "after it")
            await found.until(lambda: found.texts == ["after it"])

    play(SignalBench, test)


def test_a_stream_that_is_silent_counts_as_broken() -> None:
    async def test(bench: SignalBench) -> None:
        bench.server.alive = 0.2
        async with reading(bench) as found:
            # Signs of life keep it open.
            await asyncio.sleep(1.5)
            assert found.error is None
            bench.server.alive = 60.0
            await found.until(lambda: found.error)
        bench.server.alive = 0.2
        async with reading(bench) as found:
            await bench.say(bench.places[0], "still there")
            await found.until(lambda: found.texts == ["still there"])

    play(ImpatientBench, test)


def test_a_server_that_is_down_is_said_so_and_one_that_is_back_is_read_on() -> None:
    async def test(bench: SignalBench) -> None:
        async with reading(bench) as found:
            await bench.listener.close()
            await found.until(lambda: found.error)
        async with reading(bench) as found:
            assert isinstance(found.error, NotSent)
        await bench.listener.open()
        async with reading(bench) as found:
            await bench.say(bench.places[0], "back")
            await found.until(lambda: found.texts == ["back"])

    play(SignalBench, test)


def test_an_account_that_the_daemon_does_not_have_is_said_so() -> None:
    async def test(bench: SignalBench) -> None:
        bench.signal._config = bench.signal._config.model_copy(update={"number": "+15550000000"})
        async with reading(bench) as found:
            assert isinstance(found.error, NotSent)
        assert type(await outcome(bench.real.send(message(bench)))) is Refused

    play(SignalBench, test)


def test_a_bad_event_is_recorded_and_stops_no_other() -> None:
    async def test(bench: SignalBench) -> None:
        async with reading(bench) as found:
            feed = bench.server.feed("default")
            feed.emit({"envelope": {"sourceNumber": "+1", "dataMessage": {"message": 7}}})
            feed.emit({"exception": {"type": "ProtocolInvalidMessageException"}, "account": None})
            feed.emit({"envelope": {"sourceNumber": "+1", "typingMessage": {"action": "STARTED"}}})
            await bench.say(bench.places[0], "good")
            await found.until(lambda: found.texts == ["good"])
            await until(lambda: bench.cursors.values["event"].endswith("-4"))
        dropped = recorded(bench, UpdateDropped)
        assert [one.reason for one in dropped] == [Reason.BAD_UPDATE] * 2
        assert "ProtocolInvalidMessageException" in dropped[1].detail

    play(SignalBench, test)


def test_what_the_account_wrote_on_its_phone_is_its_own() -> None:
    async def test(bench: SignalBench) -> None:
        number = bench._platform.bot_id("default")
        async with reading(bench) as found:
            sent = {"timestamp": 1_700_000_000_000, "message": "from my phone", "destination": "+1"}
            envelope = {"sourceNumber": number, "syncMessage": {"sentMessage": sent}}
            bench.server.feed("default").emit({"envelope": envelope, "account": number})
            await bench.say(bench.places[0], "good")
            await found.until(lambda: found.texts == ["good"])

    play(SignalBench, test)


def test_an_answer_quotes_the_message_and_a_reaction_finds_its_author() -> None:
    async def test(bench: SignalBench) -> None:
        async with reading(bench) as found:
            await bench.say(bench.places[0], "what time is it")
            await found.until(lambda: found.got)
        [question] = found.got
        sent = await outcome(bench.real.send(message(bench, reply_to=question.message_id)))
        assert isinstance(sent, Receipt)
        assert [one.request.reply_to for one in bench._platform.board.sent] == [question.message_id]
        react = ActionRequest(
            action=Action.REACT,
            address=question.address,
            key="r",
            intent=IntentId("r"),
            attempt=1,
            message_id=question.message_id,
            text="👍",
        )
        assert isinstance(await outcome(bench.signal.act(react)), Receipt)
        room = bench._platform.room_at(question.address)
        assert room is not None
        said = bench._platform.board.get(room, question.message_id)
        assert said is not None and said.emoji == ("👍",)

    play(SignalBench, test)


def own_post(bench: SignalBench, text: str, time: int) -> dict[str, Any]:
    """A post of the account as some daemons show it: under its account id, without its number."""
    own = bench.own_id
    who = {"source": own, "sourceNumber": None, "sourceUuid": own, "sourceName": "Bot", "timestamp": time}
    return {"envelope": who | {"dataMessage": {"timestamp": time, "message": text}}, "account": bench.number}


class UnaskedBench(SignalBench):
    """A daemon that does not tell the account's id."""

    async def open(self) -> None:
        async def learn_nothing() -> None:
            return

        self.signal._learn_own_id = learn_nothing  # type: ignore[method-assign]
        await super().open()


def test_the_account_does_not_answer_itself_under_its_account_id() -> None:
    async def test(bench: SignalBench) -> None:
        async with reading(bench) as found:
            await until(lambda: bench.signal._own_id)
            assert bench.signal._own_id == bench.own_id
            bench.server.feed("default").emit(own_post(bench, "an answer", 1_700_000_000_000))
            await bench.say(bench.places[0], "hello")
            await found.until(lambda: found.texts == ["hello"])
        # The next process knows it at once.
        assert bench.own_id in bench.cursors.values.values()

    play(SignalBench, test)


def test_a_linked_device_tells_the_accounts_id() -> None:
    async def test(bench: UnaskedBench) -> None:
        async with reading(bench) as found:
            feed = bench.server.feed("default")
            sync = {"sentMessage": {"timestamp": 1, "message": "from my phone", "destination": "+15550000001"}}
            who = {"source": bench.number, "sourceNumber": bench.number, "sourceUuid": bench.own_id, "timestamp": 1}
            feed.emit({"envelope": who | {"syncMessage": sync}, "account": bench.number})
            feed.emit(own_post(bench, "an answer", 1_700_000_000_000))
            await bench.say(bench.places[0], "hello")
            await found.until(lambda: found.texts == ["hello"])

    play(UnaskedBench, test)


def test_a_message_that_the_account_has_sent_tells_the_accounts_id() -> None:
    async def test(bench: UnaskedBench) -> None:
        async with reading(bench) as found:
            receipt = await bench.real.send(message(bench, "an answer"))
            feed = bench.server.feed("default")
            feed.emit(own_post(bench, "an answer", int(receipt.provider_id)))
            feed.emit(own_post(bench, "another answer", 1_700_000_000_000))
            await bench.say(bench.places[0], "hello")
            await found.until(lambda: found.texts == ["hello"])

    play(UnaskedBench, test)
