"""Parts that hang, use a turn after its end, or give tools what is no argument."""

import asyncio

import anyio
import pytest

from tests.support.misbehaving import HALF, LoopAdapter, envelope, place, serve
from trunkline import Peer, SendMessage
from trunkline.core.errors import InvalidCall, InvariantBroken, TurnOver, UsageError


def says(count):
    return [envelope(f"hi {n}", str(n)) for n in range(count)]


@pytest.fixture
def store(tmp_path):
    return tmp_path / "trunkline.db"


def test_an_ack_that_hangs_stops_no_conversation(store):
    async def acks(_):
        await anyio.sleep_forever()

    adapter = LoopAdapter(acks=acks, messages=says(3))
    run = anyio.run(lambda: serve(store, adapter, until=lambda run: len(run.adapter.accepted) == 3))
    assert run.error is None
    assert {body.detail for body in run.of("inbound.ack_failed")} == {"no answer in time"}


def test_a_stream_that_raises_anything_is_opened_again(store):
    opened = []

    async def stream():
        opened.append(1)
        yield envelope(f"hi {len(opened)}", str(len(opened)))
        if len(opened) == 1:
            raise asyncio.CancelledError("from a library")
        await anyio.sleep_forever()

    adapter = LoopAdapter(stream=stream)
    run = anyio.run(lambda: serve(store, adapter, until=lambda run: len(run.adapter.accepted) == 2))
    assert run.error is None
    assert [body.detail for body in run.of("adapter.failed")] == [
        "UserCodeEscape: User code let this out: CancelledError: from a library"
    ]


def test_the_tools_of_an_ended_turn_are_refused(store):
    kept, refused = [], []

    async def agent(turn):
        kept.append(turn)
        return "re"

    async def script(_gateway):
        while not kept:  # noqa: ASYNC110 -- until the agent has been called
            await anyio.sleep(0.005)
        await anyio.sleep(0.05)
        for call in (lambda: kept[0].send("late"), lambda: kept[0].delegate("h", "late")):
            with pytest.raises(TurnOver) as error:
                await call()
            refused.append(error.value)
        assert [line.text for line in await kept[0].history()][:1] == ["hi 0"]

    adapter = LoopAdapter(messages=says(1))
    run = anyio.run(
        lambda: serve(store, adapter, agent=agent, script=script, until=lambda run: len(run.of("tool.refused")) == 2)
    )
    assert run.error is None
    assert adapter.texts == ["re"]
    assert [(body.tool, body.reason) for body in run.of("tool.refused")] == [
        ("message", "turn-over"),
        ("delegate", "turn-over"),
    ]
    assert len(refused) == 2


BAD_CALLS = {
    "no text": lambda turn: turn.send(None),
    "bytes": lambda turn: turn.send(b"x"),
    "a number as target": lambda turn: turn.send("x", 5),
    "half a surrogate in a target": lambda turn: turn.send("x", "u" + HALF, channel="loop"),
    "a place without conversation": lambda turn: turn.send("x", place(None)),
    "a number as channel": lambda turn: turn.send("x", "u", channel=5),
    "half a surrogate as account": lambda turn: turn.send("x", "u", account=HALF),
    "a number as thread": lambda turn: turn.send("x", "u", thread=5),
    "half a surrogate as session": lambda turn: turn.send("x", session="main:" + HALF),
    "a number as hand": lambda turn: turn.delegate(123, "x"),
    "no task": lambda turn: turn.delegate("h", None),
    "a text as thread": lambda turn: turn.delegate("h", "x", thread="yes"),
}


@pytest.mark.slow(every=4)
@pytest.mark.parametrize("what", BAD_CALLS)
def test_a_tool_refuses_what_is_no_argument(store, what):
    raised = []

    async def agent(turn):
        try:
            await BAD_CALLS[what](turn)
        except InvalidCall as error:
            raised.append(error)
        return "re"

    adapter = LoopAdapter(messages=says(1))
    run = anyio.run(lambda: serve(store, adapter, agent=agent, until=lambda run: run.adapter.accepted != []))
    assert run.error is None
    assert len(raised) == 1
    assert [body.reason for body in run.of("tool.refused")] == ["bad-argument"]


BAD_SENDS = {
    "a number as key": {"key": 5},
    "no key": {"key": None},
    "half a surrogate as key": {"key": HALF},
    "no text": {"text": None},
    "half a surrogate in the text": {"text": HALF},
    "bytes as target": {"to": b"ana"},
    "no target": {"to": None},
    "half a surrogate as target": {"to": "x" + HALF},
    "a place of half a surrogate": {"to": place(HALF)},
    "media that is no tuple": {"media": 5},
    "media of numbers": {"media": (5,)},
    "a number as channel": {"channel": 5},
    "half a surrogate as account": {"account": HALF},
    "half a surrogate as thread": {"thread": HALF},
    "a number as reply_to": {"reply_to": 5},
    "half a surrogate as session": {"session_key": "main:" + HALF},
    "half a surrogate as agent": {"agent": HALF},
    "a number as payload": {"payload": 5},
    "a text as poll": {"poll": "which?"},
}


@pytest.mark.slow(every=5)
@pytest.mark.parametrize("what", BAD_SENDS)
@pytest.mark.parametrize("call", ["send", "enqueue"])
def test_a_clients_bad_send_is_a_usage_error(store, what, call):
    fields = {"to": place(), "text": "hi", "key": "k"} | BAD_SENDS[what]

    async def script(gateway):
        with pytest.raises(UsageError):
            await getattr(gateway, call)(SendMessage(**fields))
        await gateway.send(SendMessage(to=place(), text="sound", key="k2"))

    adapter = LoopAdapter()
    run = anyio.run(lambda: serve(store, adapter, script=script, until=lambda run: run.adapter.accepted != []))
    assert run.error is None
    assert adapter.texts == ["sound"]


@pytest.mark.parametrize("fields", [{"text": None}, {"text": b"x"}, {"agent": 5}, {"agent": "a" + HALF}])
def test_a_bad_wake_up_is_a_usage_error(store, fields):
    async def script(gateway):
        with pytest.raises(UsageError):
            await gateway.wake(**({"agent": "main", "text": "up"} | fields))

    adapter = LoopAdapter(messages=says(1))
    run = anyio.run(lambda: serve(store, adapter, script=script, until=lambda run: run.adapter.accepted != []))
    assert run.error is None


def test_a_gateway_whose_task_is_cancelled_alone_does_not_end_in_silence(store):
    async def agent(_turn):
        asyncio.current_task().cancel()  # pyright: ignore[reportOptionalMemberAccess]
        await anyio.sleep_forever()

    adapter = LoopAdapter(messages=says(1))
    run = anyio.run(lambda: serve(store, adapter, agent=agent, until=lambda run: run.error is not None))
    assert isinstance(run.error, InvariantBroken)


def test_an_agent_that_fails_because_it_is_stopped_is_run_again(store):
    begun = []

    async def stubborn(turn):
        begun.append(turn.text)
        try:
            await anyio.sleep_forever()
        except asyncio.CancelledError:
            raise RuntimeError("shutting down") from None

    adapter = LoopAdapter(messages=[envelope("hi", peer=Peer(id="ana"))])
    first = anyio.run(lambda: serve(store, adapter, agent=stubborn, until=lambda _: begun != []))
    assert first.of("turn.ended") == []
    second = anyio.run(lambda: serve(store, LoopAdapter(), until=lambda run: run.adapter.accepted != []))
    assert second.adapter.texts == ["re hi"]
