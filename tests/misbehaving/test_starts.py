"""One part misbehaves in every way; three starts on one store each serve everybody else, and nothing comes for ever."""

import asyncio
import sys
from collections import Counter

import anyio
import anyio.lowlevel
import pytest
from msgspec.structs import replace

from tests.support.misbehaving import HALF, Base, LoopAdapter, Run, envelope, place, serve
from trunkline import Hooks, Peer, Receipt, SendingHook
from trunkline.core.config.work import TurnsConfig
from trunkline.core.delivery.hooks import SentHook
from trunkline.core.errors import HandError, RateLimited

STARTS = 3


class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError("no text")

    __repr__ = __str__


def raising(error):
    async def call(*_):
        raise error

    return call


async def exiting(*_):
    sys.exit(3)


async def awaiting_a_cancelled_future(*_):
    future = asyncio.get_running_loop().create_future()
    future.cancel()
    await future


async def leaving_a_cancellation(*_):
    """As old libraries do: cancel the task they run in, and take it back for the caller, but not for the task."""
    asyncio.current_task().cancel()  # pyright: ignore[reportOptionalMemberAccess]
    try:
        await anyio.lowlevel.checkpoint()
    except asyncio.CancelledError:
        raise TimeoutError from None


RAISES = {
    "an error": raising(ValueError("x" * 3_000_000 + HALF)),
    "cancelled": raising(asyncio.CancelledError("from a library")),
    "a cancelled future": awaiting_a_cancelled_future,
    "leaves a cancellation": leaving_a_cancellation,
    "exits": exiting,
    "generator exit": raising(GeneratorExit()),
    "a base exception": raising(Base("base")),
    "a group": raising(BaseExceptionGroup("many", [Base("base"), asyncio.CancelledError()])),
    "stop iteration": raising(StopAsyncIteration()),
    "unprintable": raising(Unprintable()),
    "half a surrogate": raising(HandError(HALF)),
    "facts that are no text": raising(RateLimited(b"x", retry_after="soon")),  # pyright: ignore[reportArgumentType]
}
#: what a part returns instead of what it should
VALUES = {"none": None, "bytes": b"bytes", "number": 5, "bool": True, "list": ["x"], "dict": {"id": 1}}


def _open(runs) -> bool:
    """Whether a message that was prepared has not ended."""
    ended = [body for run in runs for body in run.of("intent.settled") if body.state != "cancelled"]
    return len(ended) < sum(len(run.of("intent.prepared")) for run in runs)


def three_starts(tmp_path, poison, **parts):
    """Serve a poison message and, at each start, an ordinary one of somebody else; returns the runs."""
    store, unacked, runs = tmp_path / "trunkline.db", [poison], []
    accepted: list[str] = []
    adapter = None
    for start in range(STARTS):
        hello = envelope(f"hello {start}", f"h{start}", address=place("bo"), peer=Peer(id="bo", name="Bo"))
        adapter = LoopAdapter(
            messages=[*unacked, hello], sends=parts.get("sends"), acks=parts.get("acks"), before=adapter
        )
        rest = {name: part for name, part in parts.items() if name not in ("sends", "acks")}

        def served(run: Run, text: str = f"re hello {start}", *, last: bool = start == STARTS - 1) -> bool:
            answered = any(text in one for one in run.adapter.texts)
            # The last start also ends what the others have left.
            return run.error is not None or (answered and not (last and _open((*runs, run))))

        run = anyio.run(lambda: serve(store, adapter, until=served, **rest))  # noqa: B023 -- called at once  # pyright: ignore[reportArgumentType]
        assert run.error is None
        runs.append(run)
        unacked = [one for one in adapter.unacked if one is not hello]
        accepted += adapter.texts
    return runs, accepted


@pytest.mark.slow(every=4)
@pytest.mark.parametrize("how", RAISES)
def test_an_agent_that_raises_ends_its_turn(tmp_path, how):
    async def agent(turn):
        if turn.text == "poison":
            await RAISES[how]()
        return f"re {turn.text}"

    runs, accepted = three_starts(tmp_path, envelope("poison", "p"), agent=agent)
    ended = [body for run in runs for body in run.of("turn.ended") if body.outcome == "failed"]
    assert [body.reason for body in ended] == ["agent-raised"]
    # The one who wrote it is told, once.
    assert Counter(accepted) == Counter(["re hello 0", "re hello 1", "re hello 2", TurnsConfig().error_notice])


@pytest.mark.slow(every=4)
@pytest.mark.parametrize("how", RAISES)
def test_a_hand_that_raises_has_failed(tmp_path, how):
    async def agent(turn):
        if turn.callback is not None:
            return f"the hand ended: {turn.callback.outcome}"
        if turn.text == "poison":
            await turn.delegate("h", "x")
            return None
        return f"re {turn.text}"

    runs, accepted = three_starts(tmp_path, envelope("poison", "p"), agent=agent, hand=RAISES[how])
    finished = [body for run in runs for body in run.of("delegation.finished")]
    assert [(body.outcome, body.reason) for body in finished] == [("error", "hand-raised")]
    assert "the hand ended: error" in accepted


@pytest.mark.slow(every=4)
@pytest.mark.parametrize("how", RAISES)
@pytest.mark.parametrize("required", [True, False])
def test_a_sending_hook_that_raises_cancels_the_message_or_is_left_out(tmp_path, how, required):
    async def call(message):
        if "poison" in message.text:
            await RAISES[how]()

    hooks = Hooks(sending=(SendingHook(name="h", call=call, required=required),))
    runs, accepted = three_starts(tmp_path, envelope("poison", "p"), hooks=hooks)
    assert [body.phase for run in runs for body in run.of("hook.failed")] == ["sending"]
    assert ("re poison" in accepted) is not required


@pytest.mark.slow(every=4)
@pytest.mark.parametrize("how", RAISES)
def test_a_sent_hook_that_raises_changes_nothing(tmp_path, how):
    hooks = Hooks(sent=(SentHook(name="h", call=RAISES[how]),))
    runs, accepted = three_starts(tmp_path, envelope("poison", "p"), hooks=hooks)
    assert sorted(accepted) == ["re hello 0", "re hello 1", "re hello 2", "re poison"]
    assert {body.phase for run in runs for body in run.of("hook.failed")} == {"sent"}


@pytest.mark.slow(every=4)
@pytest.mark.parametrize("how", RAISES)
def test_an_ack_that_raises_is_recorded_and_the_message_known(tmp_path, how):
    async def acks(one):
        if one.text == "poison":
            await RAISES[how]()

    runs, accepted = three_starts(tmp_path, envelope("poison", "p"), acks=acks)
    assert accepted.count("re poison") == 1
    assert [len(run.of("inbound.ack_failed")) for run in runs] == [1] * STARTS
    assert [body.reason for run in runs for body in run.of("inbound.dropped")] == ["duplicate-message"] * (STARTS - 1)


@pytest.mark.slow(every=4)
@pytest.mark.parametrize("how", RAISES)
@pytest.mark.parametrize("taken", [True, False])
def test_a_send_that_raises_is_ambiguous(tmp_path, how, taken):
    async def sends(adapter, request):
        if "poison" not in request.text:
            return adapter.accept(request)
        if taken:
            adapter.accept(request)
        return await RAISES[how]()

    runs, accepted = three_starts(tmp_path, envelope("poison", "p"), sends=sends)
    settled = [body for run in runs for body in run.of("intent.settled") if body.state != "delivered"]
    assert len(settled) == 1
    # The platform's own error says that nothing was sent, unless a stop leaves the last attempt in doubt.
    assert settled[0].state in ({"dead", "unknown"} if how == "facts that are no text" else {"unknown"})
    assert {one for one in accepted if "hello" in one} == {"re hello 0", "re hello 1", "re hello 2"}


@pytest.mark.slow(every=4)
@pytest.mark.parametrize("what", VALUES)
def test_an_agent_that_returns_no_text_ends_its_turn(tmp_path, what):
    async def agent(turn):
        return VALUES[what] if turn.text == "poison" else f"re {turn.text}"

    runs, _ = three_starts(tmp_path, envelope("poison", "p"), agent=agent)
    ended = [body for run in runs for body in run.of("turn.ended") if body.outcome != "replied"]
    assert [body.reason for body in ended] == [None if what == "none" else "bad-answer"]


@pytest.mark.slow(every=4)
@pytest.mark.parametrize("what", VALUES)
def test_a_hand_that_returns_no_text_has_failed(tmp_path, what):
    async def agent(turn):
        if turn.text == "poison":
            await turn.delegate("h", "x")
            return None
        return f"re {turn.text}"

    async def hand(_task):
        return VALUES[what]

    runs, _ = three_starts(tmp_path, envelope("poison", "p"), agent=agent, hand=hand)
    finished = [body for run in runs for body in run.of("delegation.finished")]
    assert [(body.outcome, body.reason) for body in finished] == [("error", "bad-result")]


RECEIPTS = {
    **{f"a {name}": lambda _, value=value: value for name, value in VALUES.items()},
    "an id of half a surrogate": lambda request: Receipt(provider_id=HALF, address=request.address),
    "an id that is a number": lambda request: Receipt(provider_id=5, address=request.address),  # pyright: ignore[reportArgumentType]
    "an id that is None": lambda request: Receipt(provider_id=None, address=request.address),  # pyright: ignore[reportArgumentType]
    "an empty id": lambda request: Receipt(provider_id="", address=request.address),
    "no address": lambda _: Receipt(provider_id="1", address=None),  # pyright: ignore[reportArgumentType]
    "an address as text": lambda _: Receipt(provider_id="1", address="here"),  # pyright: ignore[reportArgumentType]
    "an address of half a surrogate": lambda _: Receipt(provider_id="1", address=place("x" + HALF)),
    "a thread that is a number": lambda _: Receipt(provider_id="1", address=place("x", 5)),
}


@pytest.mark.slow(every=4)
@pytest.mark.parametrize("what", RECEIPTS)
def test_a_receipt_that_is_none_leaves_the_message_in_doubt(tmp_path, what):
    async def sends(adapter, request):
        receipt = adapter.accept(request)
        return RECEIPTS[what](request) if "poison" in request.text else receipt

    runs, accepted = three_starts(tmp_path, envelope("poison", "p"), sends=sends)
    attempts = [body.reason for run in runs for body in run.of("attempt.ended") if body.reason != "accepted"]
    assert set(attempts) == {"no-receipt"}
    assert [body.state for run in runs for body in run.of("intent.settled") if body.state != "delivered"] == ["unknown"]
    assert accepted.count("re poison") == 1


LONG = "i" * 10_240
ENVELOPES = {
    "no envelope": None,
    "a text instead": "hello",
    "no address": envelope(address=None),
    "empty conversation": envelope(address=place("")),
    "conversation is a number": envelope(address=place(5)),
    "half a surrogate in the conversation": envelope(address=place("c" + HALF)),
    "half a surrogate in the thread": envelope(address=place("c", "t" + HALF)),
    "half a surrogate in the message id": envelope(id_="m" + HALF),
    "half a surrogate in the peer id": envelope(peer=Peer(id="p" + HALF)),
    "half a surrogate in stands_for": envelope(stands_for="s" + HALF),
    "half a surrogate in pressed": envelope(pressed="s" + HALF),
    "message id is a number": envelope(id_=7),
    "message id is None": envelope(id_=None),
    "message id is empty": envelope(id_=""),
    "text is None": envelope(None),
    "text is bytes": envelope(b"x"),
    "no peer": envelope(peer=None),
    "peer name is None": envelope(peer=Peer(id="p", name=None)),  # pyright: ignore[reportArgumentType]
    "time is nan": envelope(sent_at=float("nan")),
    "time is None": envelope(sent_at=None),
    "time is text": envelope(sent_at="now"),
    "time is negative": envelope(sent_at=-1e300),
    "time is huge": envelope(sent_at=10**400),
    "roles are numbers": envelope(roles=(5,)),
    "guild is a number": envelope(guild=5),
    "bot is a text": envelope(bot="yes"),
    "cause is a text": envelope(cause="1"),
    "another account": envelope(address=replace(place("x"), account="other")),
}
SOUND = {
    "half a surrogate in the text": envelope("cut " + HALF),
    "half a surrogate in the name": envelope(peer=Peer(id="p", name="Ana " + HALF)),
    "half a surrogate in a role": envelope(guild="g" + HALF, roles=("r" + HALF,), reply_to="x" + HALF),
    "nul everywhere": envelope("\0x", "\0", address=place("\0", "\0"), peer=Peer(id="\0", name="\0")),
    "long ids": envelope("x", LONG, address=place(LONG, LONG), peer=Peer(id=LONG, name=LONG)),
}


@pytest.mark.slow(every=4)
@pytest.mark.parametrize("what", ENVELOPES)
def test_a_message_with_unusable_fields_is_dropped_and_acknowledged(tmp_path, what):
    runs, accepted = three_starts(tmp_path, ENVELOPES[what])
    dropped = [body for run in runs for body in run.of("inbound.dropped")]
    assert [body.reason for body in dropped] == ["bad-envelope"]
    assert dropped[0].detail
    assert accepted == ["re hello 0", "re hello 1", "re hello 2"]


@pytest.mark.parametrize("what", SOUND)
def test_a_message_with_odd_texts_is_answered(tmp_path, what):
    _, accepted = three_starts(tmp_path, SOUND[what])
    assert len(accepted) == STARTS + 1
