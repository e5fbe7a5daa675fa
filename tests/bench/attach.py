"""JUDGE, LONG, CALLS, LIST: what a gateway that is not ours costs us, beside its own time. CPU time, ratios of one run.

JUDGE is the verdict on a long trace of the wire, against reading that trace. LONG is the same verdict for each event,
against a trace of a quarter of the length: who looks through all messages for each question is four times as slow.
CALLS is a send to a platform whose requests are recorded, against one to the same server without the record. LIST is
the start of the command for its shortest answer.
"""

import gc
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import aiohttp

from tests.bench.scenario import command_bar
from tests.support.bench.bar import Bar
from tests.support.wire_story import BEN, DEPLOY, NOTICE, WireStory
from trunkline.core.events import Trace, encode_trace, read_trace
from trunkline.sim.attach.play.servers import Attribution
from trunkline.sim.invariants import judge
from trunkline.sim.loop import RealTimeLoop, run_real_time
from trunkline.sim.run.world import World
from trunkline.sim.scenario.load import load_text
from trunkline.sim.wire.server import CallLog, WireListener
from trunkline.sim.wire.servers import make_server

ROUNDS = 5
#: events of the two traces
SHORT, LONG = 4_000, 16_000
#: sends of a round
SENDS = 300
_WORLD = """
scenario: 1
title: a room
world: {people: [ana], telegram: {latency: 1ms, rooms: {ops: {}}}}
cast: {agents: {main: [{do: [{reply: x}]}]}}
script: [{at: 0s, note: it begins}]
"""


def story(events: int) -> Trace:
    """A gateway that answers in three places, that is killed now and then, and sends an answer a second time."""
    written, number = WireStory(), 0
    while len(written.events) < events:
        number += 1
        place = (BEN, DEPLOY)[number % 2]
        written.answered(f"q{number}", place)
        if number % 100 == 0:
            written.crash()
            written.send(written.turn(f"q{number}"), place)
        if number % 70 == 0:
            written.refuse(f"AZq{number}-g1", place)
    return written.end().trace


def lost_story(events: int) -> Trace:
    """A gateway that hears of none of its messages, and says after each answer that it may not have arrived."""
    written, number = WireStory(), 0
    while len(written.events) < events:
        number += 1
        place = (BEN, DEPLOY)[number % 2]
        written.ask(f"q{number}", place)
        written.send(written.turn(f"q{number}"), place, heard=False)
        written.send(NOTICE if number % 2 else f"I could not send answer {number}.", place, heard=False)
    return written.end().trace


def cpu(call: Callable[[], object]) -> float:
    """CPU seconds of one call."""
    gc.collect()
    before = time.process_time()
    call()
    return time.process_time() - before


def judge_bars() -> list[Bar]:
    """Measure JUDGE and LONG."""
    short, long = story(SHORT), story(LONG)
    assert any(one.violations for one in judge(long.events))
    against, growth, spent = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "long.jsonl"
        path.write_bytes(encode_trace(long))
        for _ in range(ROUNDS):
            read = cpu(lambda: read_trace(path))
            of_long = cpu(lambda: judge(long.events))
            of_short = cpu(lambda: judge(short.events))
            against.append(of_long / read)
            growth.append(of_long / len(long.events) / (of_short / len(short.events)))
            spent.append(of_long)
    note = f"{statistics.median(spent):.2f} CPU s for {len(long.events):,} events"
    lost = {events: lost_story(events) for events in (SHORT, LONG)}
    costs = {
        events: [cpu(lambda trace=trace: judge(trace.events)) for _ in range(ROUNDS)] for events, trace in lost.items()
    }
    grown = statistics.median(costs[LONG]) / LONG / (statistics.median(costs[SHORT]) / SHORT)
    return [
        Bar(
            id="JUDGE",
            title="the verdict on a long trace of the wire / reading it",
            measured=statistics.median(against),
            demand=15,
            want=10,
            better="lower",
            unit="x",
            note=note,
        ),
        Bar(
            id="LONG",
            title=f"an event of {LONG:,} to judge / one of {SHORT:,}",
            measured=statistics.median(growth),
            # Four times the events may cost 4.8 times as much.
            demand=1.2,
            better="lower",
            unit="x",
            note=note,
        ),
        Bar(
            id="LONG",
            title="the same of a gateway whose every response is lost",
            measured=grown,
            demand=1.2,
            better="lower",
            unit="x",
            note=f"{statistics.median(costs[LONG]):.2f} CPU s for {LONG:,} events",
        ),
    ]


async def _sends(loop: RealTimeLoop, *, recorded: bool) -> float:
    """CPU seconds of one send, to a server of its own."""
    world = World(load_text(_WORLD, "bench.yaml"), loop, seed=1, bugs=())
    world.wire_side = True
    world.build()
    server = make_server(world.platforms["telegram"], world, Attribution())
    if recorded:
        server.calls = CallLog(server.platform.events, "telegram", lambda _: None, lambda _: None)
    listener = WireListener(server)
    await listener.open()
    try:
        room = world.address("telegram/ops").conversation
        url = f"{server.url}/bot{server.token('default', 1)}/sendMessage"
        async with aiohttp.ClientSession() as http:

            async def send(number: int) -> None:
                async with http.post(url, json={"chat_id": room, "text": f"message {number}"}) as response:
                    assert response.status == 200, await response.text()

            await send(0)
            before = time.process_time()
            for number in range(SENDS):
                await send(number)
            spent = (time.process_time() - before) / SENDS
    finally:
        await listener.close()
        world.disk.discard()
    called = sum(event.kind == "wire.called" for event in world.log.events)
    assert called == (SENDS + 1 if recorded else 0)
    return spent


def call_bar() -> Bar:
    """Measure CALLS."""
    ratios, spent = [], []
    for _ in range(ROUNDS):
        plain, recorded = (_on_sockets(recorded=recorded) for recorded in (False, True))
        ratios.append(recorded / plain)
        spent.append((plain, recorded))
    plain, recorded = (statistics.median(each) for each in zip(*spent, strict=True))
    return Bar(
        id="CALLS",
        title="a send that is recorded / one that is not",
        measured=statistics.median(ratios),
        demand=1.4,
        better="lower",
        unit="x",
        note=f"{recorded * 1e6:.0f} us / {plain * 1e6:.0f} us, client and server",
    )


def _on_sockets(*, recorded: bool) -> float:
    gc.collect()
    return run_real_time(partial(_sends, recorded=recorded))


def bars() -> Iterator[Bar]:
    """Measure them all."""
    yield from judge_bars()
    yield call_bar()
    yield command_bar("LIST", 120, "attach", "--list")
