"""The fake calls: what happens on the exchange, and what a response to speech means."""

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import msgspec
import pytest

from trunkline.core.channels import Ready
from trunkline.core.errors import Ambiguous, CallEnded, PlatformError, Refused, UnknownName
from trunkline.core.events import Body
from trunkline.core.values import Address, IntentId, Receipt, SendRequest
from trunkline.sim.events.script import ScriptSkipped
from trunkline.sim.events.wire import WireAccepted, WireDeduplicated
from trunkline.sim.events.world import CallChanged, PeerSaid, SpeechHeard
from trunkline.sim.loop import Node, SimLoop, run
from trunkline.sim.platforms import Room
from trunkline.sim.platforms.adapter import PlaceAdapter
from trunkline.sim.platforms.channels.voice import FakeVoice, VoiceCall
from trunkline.sim.run.world import World
from trunkline.sim.scenario import PlaceRef, load_text
from trunkline.sim.scenario.model.faults import Fault

FILE = """\
scenario: 1
title: calls
world:
  people: [ana, bo]
  voice: {settings}
cast: {{agents: {{main: [{{do: [{{silent: true}}]}}]}}}}
script: [{{at: 0s, note: not played}}]
"""
#: thirty characters: two seconds
TWO_SECONDS = "This sentence takes 2 seconds."


class Stage:
    """The exchange without a gateway: the test is the process."""

    def __init__(self, world: World) -> None:
        self.world = world
        platform = world.platforms["voice"]
        assert isinstance(platform, FakeVoice)
        self.voice = platform
        self.adapter = PlaceAdapter(platform, "default", Node("gateway", 1), world)

    def line(self, person: str) -> Room:
        return self.world.room(PlaceRef(platform="voice", account="default", person=person))

    def call(self, person: str, name: str, *, answered: bool = True) -> VoiceCall:
        call = self.voice.exchange.call(self.line(person), self.world.peer("voice", person), name)
        if answered:
            self.voice.exchange.answer_call(call)
        return call

    def say(self, person: str, text: str, name: str = "m1") -> None:
        line = self.line(person)
        message = self.voice.message_id(name, line)
        self.voice.people.say(name, self.world.peer("voice", person), (), line, message, text)

    def recorded(self, kind: type[Body]) -> list[Any]:
        return [event.body for event in self.world.log.events if isinstance(event.body, kind)]

    def request(self, place: Address, text: str = TWO_SECONDS, key: str = "k1", attempt: int = 1) -> SendRequest:
        return SendRequest(address=place, text=text, key=key, intent=IntentId(key), chunk=0, attempt=attempt)

    def outcome(self, group: Any, request: SendRequest) -> list[Any]:
        """The receipt or the error of a send, once it comes."""
        found: list[Any] = []

        async def send() -> None:
            try:
                found.append(await self.adapter.send(request))
            except PlatformError as error:
                found.append(error)

        group.start_soon(send)
        return found


def play(test: Callable[[Stage], Awaitable[None]], settings: str = "{}") -> None:
    async def main(loop: SimLoop) -> None:
        world = World(load_text(FILE.format(settings=settings)), loop, seed=1, bugs=())
        world.build()
        try:
            await test(Stage(world))
        finally:
            world.disk.discard()

    run(main)


def place(call: VoiceCall) -> Address:
    return call.room.address("default")


# ---------------------------------------------------------------- calls


def test_a_call_is_answered_when_the_gateway_is_connected() -> None:
    async def test(stage: Stage) -> None:
        stage.call("ana", "one", answered=False)
        await anyio.sleep(5.0)
        assert stage.recorded(CallChanged) == []
        async with stage.adapter.connect():
            await anyio.sleep(2.0)
            assert [body.state for body in stage.recorded(CallChanged)] == ["answered"]

    play(test)


def test_a_caller_gives_up_and_what_they_meant_to_say_is_reported() -> None:
    async def test(stage: Stage) -> None:
        stage.call("ana", "one", answered=False)
        stage.say("ana", "is there anybody?")
        await anyio.sleep(60.0)
        assert [(body.state, body.why) for body in stage.recorded(CallChanged)] == [("ended", "no-answer")]
        assert [body.step for body in stage.recorded(ScriptSkipped)] == ["m1"]
        assert stage.recorded(PeerSaid) == []

    play(test)


def test_the_next_caller_finds_the_lines_busy() -> None:
    async def test(stage: Stage) -> None:
        first = stage.call("ana", "one")
        second = stage.call("bo", "one", answered=False)
        assert [(body.address, body.why) for body in stage.recorded(CallChanged)][1:] == [(place(second), "busy")]
        stage.voice.exchange.hang_up(first.room)
        await anyio.sleep(1.0)
        assert stage.call("bo", "two").open

    play(test, "{lines: 1}")


def test_words_arrive_when_they_are_spoken_and_before_the_caller_hangs_up() -> None:
    async def test(stage: Stage) -> None:
        call = stage.call("ana", "one")
        stage.say("ana", TWO_SECONDS)
        stage.say("ana", "And one more.", "m2")
        stage.voice.exchange.hang_up(call.room)
        await anyio.sleep(1.9)
        assert stage.recorded(PeerSaid) == []
        with pytest.raises(UnknownName, match="nobody hears"):
            stage.say("ana", "too late", "m3")
        await anyio.sleep(5.0)
        assert [(body.text, body.address) for body in stage.recorded(PeerSaid)] == [
            (TWO_SECONDS, place(call)),
            ("And one more.", place(call)),
        ]
        assert [body.state for body in stage.recorded(CallChanged)] == ["answered", "ended"]

    play(test)


def test_steps_that_no_call_allows_are_errors() -> None:
    async def test(stage: Stage) -> None:
        exchange = stage.voice.exchange
        with pytest.raises(UnknownName, match="no single call that is going on, but none"):
            stage.say("ana", "hello")
        call = stage.call("ana", "one")
        with pytest.raises(UnknownName, match="is on"):
            exchange.hold(call.room, on=False)
        exchange.hold(call.room, on=True)
        with pytest.raises(UnknownName, match="is held"):
            exchange.hold(call.room, on=True)
        with pytest.raises(UnknownName, match="nobody hears"):
            stage.say("ana", "hello")
        stage.call("ana", "two")
        with pytest.raises(UnknownName, match="but @ana/one, @ana/two"):
            exchange.hang_up(stage.line("ana"))
        exchange.hang_up(call.room)
        await anyio.sleep(1.0)
        with pytest.raises(UnknownName, match="has ended already"):
            exchange.hang_up(call.room)

    play(test)


# ---------------------------------------------------------------- speech


def test_a_response_means_that_it_was_heard_to_its_end() -> None:
    async def test(stage: Stage) -> None:
        call = stage.call("ana", "one")
        before = stage.world.now()
        receipt = await stage.adapter.send(stage.request(place(call), "**This** sentence takes 2 seconds."))
        assert receipt.address == place(call) and stage.world.now() - before > 2.0
        [heard] = stage.recorded(SpeechHeard)
        assert (heard.text, heard.whole, heard.seconds) == (TWO_SECONDS, True, 2.0)

    play(test)


def test_what_is_cut_off_is_refused_and_heard_in_part() -> None:
    async def test(stage: Stage) -> None:
        call = stage.call("ana", "one")
        first, waits = list[Any](), list[Any]()
        async with anyio.create_task_group() as group:
            first = stage.outcome(group, stage.request(place(call)))
            await anyio.sleep(0.2)
            waits = stage.outcome(group, stage.request(place(call), "never heard", "k2"))
            await anyio.sleep(0.8)
            stage.voice.exchange.hang_up(call.room)
        assert isinstance(first[0], CallEnded) and "cut off after" in first[0].facts
        assert isinstance(waits[0], CallEnded) and "unheard" in waits[0].facts
        [heard] = stage.recorded(SpeechHeard)
        assert not heard.whole and 0 < heard.seconds < 1 and TWO_SECONDS.startswith(heard.text)
        assert stage.recorded(WireAccepted) == []
        with pytest.raises(CallEnded, match="is over"):
            await stage.adapter.send(stage.request(place(call), key="k3"))

    play(test)


def test_on_hold_nothing_is_heard_and_the_rest_comes_afterwards() -> None:
    async def test(stage: Stage) -> None:
        call, exchange = stage.call("ana", "one"), stage.voice.exchange
        assert await stage.adapter.ready_at(place(call)) == Ready(ok=True)
        found = list[Any]()
        async with anyio.create_task_group() as group:
            found = stage.outcome(group, stage.request(place(call)))
            await anyio.sleep(1.0)
            exchange.hold(call.room, on=True)
            assert await stage.adapter.ready_at(place(call)) == Ready(ok=False, reason="call-on-hold")
            await anyio.sleep(30.0)
            assert found == []
            exchange.hold(call.room, on=False)
            exchange.hold(call.room, on=True)
            exchange.hold(call.room, on=False)
        assert isinstance(found[0], Receipt)
        [heard] = stage.recorded(SpeechHeard)
        assert (heard.whole, heard.seconds) == (True, 2.0)

    play(test)


@pytest.mark.parametrize("idempotency", ["key", "none"])
def test_a_known_key_waits_for_its_utterance_and_begins_no_other_one(idempotency: str) -> None:
    async def test(stage: Stage) -> None:
        call = stage.call("ana", "one")
        first, again = list[Any](), list[Any]()
        async with anyio.create_task_group() as group:
            first = stage.outcome(group, stage.request(place(call)))
            await anyio.sleep(0.5)
            again = stage.outcome(group, stage.request(place(call), attempt=2))
        times = 1 if idempotency == "key" else 2
        assert len(stage.recorded(SpeechHeard)) == len(stage.recorded(WireAccepted)) == times
        assert (first == again) is (times == 1)
        assert len(stage.recorded(WireDeduplicated)) == 2 - times

    play(test, f"{{idempotency: {idempotency}}}")


def test_after_the_call_a_known_key_is_answered_with_its_receipt() -> None:
    async def test(stage: Stage) -> None:
        call = stage.call("ana", "one")
        stage.world.arm(Fault.model_validate({"on": "send", "do": "reset"}))
        with pytest.raises(Ambiguous):
            await stage.adapter.send(stage.request(place(call)))
        stage.voice.exchange.hang_up(call.room)
        await anyio.sleep(1.0)
        # It was heard to its end, so the end of the call changes nothing.
        assert isinstance(await stage.adapter.send(stage.request(place(call), attempt=2)), Receipt)
        assert len(stage.recorded(SpeechHeard)) == 1

    play(test)


def test_a_number_means_the_only_call_that_is_going_on() -> None:
    async def test(stage: Stage) -> None:
        number = stage.line("ana").address("default")
        with pytest.raises(CallEnded, match="no call is going on"):
            await stage.adapter.send(stage.request(number))
        stage.call("bo", "one")
        with pytest.raises(CallEnded, match="no call is going on"):
            await stage.adapter.send(stage.request(number, key="k2"))
        call = stage.call("ana", "one")
        receipt = await stage.adapter.send(stage.request(number, key="k3"))
        assert receipt.address == number
        [heard] = stage.recorded(SpeechHeard)
        assert (heard.address, heard.requested) == (place(call), number)
        stage.call("ana", "two")
        with pytest.raises(CallEnded, match="2 calls are going on"):
            await stage.adapter.send(stage.request(number, key="k4"))

    play(test)


def test_what_cannot_be_said_does_not_reach_the_exchange() -> None:
    async def test(stage: Stage) -> None:
        call = stage.call("ana", "one")
        with pytest.raises(Refused, match="nothing of the text can be said"):
            await stage.adapter.send(stage.request(place(call), "***"))
        assert stage.voice.wire.requests == 0

    play(test)


def test_a_call_of_another_number_is_no_place() -> None:
    async def test(stage: Stage) -> None:
        hers, his = stage.call("ana", "one"), stage.call("bo", "one")
        mixed = msgspec.structs.replace(place(hers), thread=place(his).thread)
        with pytest.raises(CallEnded):
            await stage.adapter.send(stage.request(mixed))

    play(test)
