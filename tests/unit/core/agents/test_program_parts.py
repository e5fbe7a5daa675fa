"""The parts of a program's connection, without a process: lines, messages, open turns, the input queue, rations."""

import itertools

import anyio
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trunkline.core.agents.log import Ration, shown
from trunkline.core.agents.program.config import ProgramConfig
from trunkline.core.agents.program.lines import LineCutter, TooLong
from trunkline.core.agents.program.messages import (
    AnswerMessage,
    CallMessage,
    FailMessage,
    Hello,
    LogMessage,
    Malformed,
    OfTurn,
    decode,
)
from trunkline.core.agents.program.open_turns import Broken, OpenTurns
from trunkline.core.agents.program.process import InputQueue
from trunkline.core.reasons import Reason

CONFIG = ProgramConfig(command=("x",), max_calls=2)


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    """The data in chunks that end at these places."""
    places = sorted({min(cut, len(data)) for cut in cuts} | {0, len(data)})
    return [data[start:end] for start, end in itertools.pairwise(places)]


def cut(chunks: list[bytes], longest: int) -> list[bytes | TooLong]:
    cutter = LineCutter(longest)
    found = [line for chunk in chunks for line in cutter.feed(chunk)]
    return [*found, *cutter.finish()]


@given(st.lists(st.binary(max_size=30)), st.lists(st.integers(0, 500)), st.integers(1, 20))
def test_lines_do_not_depend_on_how_they_arrive(parts: list[bytes], cuts: list[int], longest: int) -> None:
    data = b"\n".join(parts)
    found = cut(pieces(data, cuts), longest)
    assert found == cut([data], longest)
    expected: list[bytes | TooLong] = []
    for line in data.split(b"\n"):
        if len(line) > longest:
            expected.append(TooLong(start=line))
        elif line.removesuffix(b"\r"):
            expected.append(line.removesuffix(b"\r"))
    assert [type(line) for line in found] == [type(line) for line in expected]
    for line, wanted in zip(found, expected, strict=True):
        if isinstance(line, TooLong) and isinstance(wanted, TooLong):
            assert wanted.start.startswith(line.start)
        else:
            assert line == wanted


def test_an_endless_line_keeps_little_memory_and_names_its_turn() -> None:
    cutter = LineCutter(10_000)
    assert not [*cutter.feed(b'{"type": "answer", "turn": "t-1", "text": "')]
    for _ in range(1000):
        assert not [*cutter.feed(b"x" * 1000)]
    assert cutter.is_skipping
    (line,) = cutter.feed(b'"}\n')
    assert isinstance(line, TooLong) and line.turn == "t-1" and len(line.start) <= 4096
    assert [*cutter.feed(b"next\n")] == [b"next"]


@pytest.mark.parametrize(
    ("start", "turn"),
    [
        (b'{"turn":"t-1","text":"', "t-1"),
        (b'{"text": "say \\"turn\\": \\"t-2\\" ", "turn": "t-1"', "t-1"),
        (b'{"text": "' + b"x" * 5000, None),
        (b'{"turn": ""', None),
        (b"\xff\xfe", None),
    ],
)
def test_the_turn_of_an_endless_line_is_found_near_its_start(start: bytes, turn: str | None) -> None:
    assert TooLong(start=start).turn == turn


@given(st.binary(max_size=200))
def test_any_bytes_are_a_message_or_malformed(line: bytes) -> None:
    assert isinstance(decode(line), Hello | CallMessage | AnswerMessage | FailMessage | LogMessage | Malformed)


MESSAGES: list[OfTurn | Hello | LogMessage] = [
    Hello(protocol=1),
    CallMessage(turn="t", call="1", tool="message", params={"a": [1, None, "é"]}),
    AnswerMessage(turn="t", text=None),
    FailMessage(turn="t", error="x", refused=True),
    LogMessage(text="x"),
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_messages_survive_their_line(message: OfTurn | Hello | LogMessage) -> None:
    assert decode(msgspec.json.encode(message)) == message


def test_what_is_said_of_a_turn_reaches_no_other() -> None:
    turns = OpenTurns(CONFIG)
    one, two = turns.open("1"), turns.open("2")
    assert turns.say(AnswerMessage(turn="1", text="x"), 10) == ""
    assert "not open" in turns.say(AnswerMessage(turn="1", text="y"), 10)
    assert "not open" in turns.say(AnswerMessage(turn="3", text="y"), 10)
    turns.malformed(Malformed(what="nonsense", turn="3"))
    turns.malformed(Malformed(what="nonsense"))
    assert (one.is_over, two.is_over) == (True, False)
    turns.close("2")
    assert "not open" in turns.say(AnswerMessage(turn="2", text="y"), 10)
    assert len(turns) == 1


@pytest.mark.anyio
async def test_a_turn_ends_at_its_limits_after_what_was_within_them() -> None:
    turns = OpenTurns(CONFIG)
    one = turns.open("1")
    calls = [CallMessage(turn="1", call=str(n), tool="history") for n in range(3)]
    for call in calls:
        turns.say(call, 10)
    assert [await one.next(), await one.next()] == calls[:2]
    last = await one.next()
    assert isinstance(last, Broken) and last.reason is Reason.TOO_MANY_CALLS
    assert not one.is_answered


@pytest.mark.anyio
async def test_a_line_whose_turn_has_ended_is_not_written() -> None:
    written = InputQueue()
    async with anyio.create_task_group() as group:
        with anyio.move_on_after(0):
            await written.put("1", b"gone\n")
        group.start_soon(written.put, "2", b"kept\n")
        assert await written.next() == b"kept\n"
        written.written()
    written.close()
    await written.put("3", b"nobody reads it\n")


@pytest.mark.anyio
async def test_a_line_that_is_being_written_stays_whole_when_its_turn_ends() -> None:
    written = InputQueue()
    async with anyio.create_task_group() as group:
        with anyio.CancelScope() as scope:
            group.start_soon(written.put, "2", b"second\n")
            written.put_soon("1", b"first\n")
            assert await written.next() == b"first\n"
            scope.cancel()
        written.written()
        assert await written.next() == b"second\n"
        written.written()


@pytest.mark.anyio
async def test_who_waits_goes_on_when_the_program_ends() -> None:
    written = InputQueue()
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(written.put, "1", b"x\n")
            await anyio.wait_all_tasks_blocked()
            written.close()


def test_a_ration_bounds_what_is_taken_over_time() -> None:
    ration = Ration(10.0, 20.0, 0.0)
    assert sum(ration.spend(1, 0.0) for _ in range(100)) == 20
    assert sum(ration.spend(1, 1.0) for _ in range(100)) == 10
    assert ration.borrow(30, 2.0) == pytest.approx(2.0)
    assert sum(ration.spend(1, 1000.0) for _ in range(100)) == 20


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("plain é 👋", "plain é 👋"),
        ("\x1b[31m\r\n\x00", "\\x1b[31m\\r\\n\\x00"),
        ("\u202eevil", "\\u202eevil"),
        ("x" * 600, f"{'x' * 500}… (600 characters)"),
    ],
)
def test_strangers_texts_are_one_line_without_control_characters(text: str, seen: str) -> None:
    assert shown(text) == seen
