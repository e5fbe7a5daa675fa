"""Hooks in a real gateway: what they may do to a message before it is stored, on every way alike."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.support.factories import direct
from tests.support.hooks import WAYS, Saying, Told, bytes_of, hooks, sending
from tests.support.sending import Platform, ended, message, serving, stored, texts
from tests.support.small_gateway import Echo, Running
from trunkline import Cancel, Change, Outgoing, Poll, SendFailed, SendingHook, SendStatus, Turn
from trunkline.core.errors import NotSent, PlaceGone
from trunkline.core.events.delivery import (
    HookFailed,
    HookSending,
    HookSent,
    IntentPrepared,
    IntentSettled,
    IntentSuppressed,
    SendJoined,
    SendPreviewed,
)
from trunkline.core.events.gateway import SessionCreated
from trunkline.core.reasons import Reason
from trunkline.core.values import Capabilities, Capability, Idempotency, IntentState

pytestmark = pytest.mark.anyio

KEY = "main:discord:default:direct:100"
SECRET = "the secret word is xyzzy"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def platform(anyio_backend: str) -> Iterator[Platform]:
    tiny = Platform()
    yield tiny
    tiny.close()


# ---------------------------------------------------------------- what they see, and in which order


async def test_hooks_are_asked_by_priority_and_each_sees_what_is_left(path: Path, platform: Platform) -> None:
    seen: list[Outgoing] = []

    def adds(name: str, priority: int) -> SendingHook:
        return sending(name, lambda shown: Change(f"{shown.text}{name}"), priority=priority, seen=seen)

    asked = hooks(adds("c", 0), adds("a", 5), adds("e", -1), adds("d", 0), sending("k", seen=seen, priority=9))
    async with serving(path, platform, hooks=asked) as running:
        await running.gateway.send(message(text="hi "))
        [told] = running.recorded(HookSending)
        assert await running.transcript(KEY) == [("assistant", "hi acde")]
    assert [shown.text for shown in seen] == ["hi ", "hi ", "hi a", "hi ac", "hi acd"]
    assert {shown.original for shown in seen} == {"hi "}
    assert (told.verdict, told.by, told.reason) == ("modified", ("a", "c", "d", "e"), Reason.MODIFIED_BY_HOOK)
    assert texts(platform) == ["hi acde"]


async def test_a_hook_sees_what_is_said_where_and_by_whom(path: Path, platform: Platform) -> None:
    seen: list[Outgoing] = []
    async with serving(path, platform, hooks=hooks(sending("see", seen=seen))) as running:
        await running.gateway.send(message("channel:500", media=("/a.png",), reply_to="9"))
    [shown] = seen
    assert (shown.intent, shown.kind, shown.agent, shown.media, shown.reply_to) == (
        "send:k",
        "send",
        "main",
        ("/a.png",),
        "9",
    )
    assert (str(shown.address), shown.session_key) == ("discord:default/500", "main:discord:default:channel:500")


@pytest.mark.parametrize("way", WAYS)
async def test_a_hook_changes_what_is_said_on_every_way(path: Path, platform: Platform, way: str) -> None:
    says = Saying(way, SECRET)
    asked = hooks(sending("redact", lambda shown: Change(shown.text.replace("xyzzy", "***"))))
    async with serving(path, platform, agent=says.agent, runner=says.runner, hooks=asked, **says.config) as running:
        await says.begin(running, platform)
        await running.until(IntentSettled)
        [told] = running.recorded(HookSending)
        assert ("assistant", "the secret word is ***") in await running.transcript(KEY)
        assert b"xyzzy" not in bytes_of(path)
    assert texts(platform) == ["the secret word is ***"]
    assert (told.verdict, told.by) == ("modified", ("redact",))


async def test_a_message_that_no_hook_touches_is_recorded_as_kept(path: Path, platform: Platform) -> None:
    same = hooks(sending("none"), sending("same", lambda shown: Change(shown.text)))
    async with serving(path, platform, hooks=same) as running:
        await running.gateway.send(message())
        [told] = running.recorded(HookSending)
        prepared = next(event for event in running.log.events if isinstance(event.body, IntentPrepared))
        assert next(event for event in running.log.events if event.body is told).seq < prepared.seq
    assert (told.verdict, told.by, told.reason) == ("kept", (), Reason.KEPT_BY_HOOKS)


# ---------------------------------------------------------------- taken back


@pytest.mark.parametrize("way", WAYS)
async def test_what_a_hook_takes_back_is_not_sent_and_nowhere_on_the_disk(
    path: Path, platform: Platform, way: str
) -> None:
    says, later = Saying(way, SECRET), list[Outgoing]()
    asked = hooks(sending("no", Cancel("not that"), priority=1), sending("later", Change("x"), seen=later))
    async with serving(path, platform, agent=says.agent, runner=says.runner, hooks=asked, **says.config) as running:
        await says.begin(running, platform)
        [settled] = await running.until(IntentSettled)
        [told] = running.recorded(HookSending)
        assert (settled.state, settled.reason) == (IntentState.CANCELLED, Reason.CANCELLED_BY_HOOK)
        assert (told.verdict, told.by, told.reason) == ("cancelled", ("no",), Reason.CANCELLED_BY_HOOK)
        assert running.recorded(IntentPrepared) == []
        assert b"xyzzy" not in bytes_of(path)
        assert [role for role, _ in await running.transcript(KEY)] == ([] if way == "send" else ["user"])
    # It is final: no later hook is asked.
    assert (later, platform.sent) == ([], [])


async def test_a_poll_a_payload_and_files_are_taken_back_too(path: Path, platform: Platform) -> None:
    platform.capabilities = Capabilities(
        can=Capabilities().can | {Capability.POLL, Capability.PAYLOAD}, idempotency=Idempotency.KEY
    )
    poll = Poll(question="what is xyzzy?", options=("xyzzy 1", "xyzzy 2"))
    async with serving(path, platform, hooks=hooks(sending("no", Cancel()))) as running:
        for number, fields in enumerate(
            (
                {"text": "", "poll": poll},
                {"text": "a card", "payload": '{"card": "xyzzy"}'},
                {"text": "", "media": ("/xyzzy.png",)},
            )
        ):
            with pytest.raises(SendFailed, match="A hook cancelled it"):
                await running.gateway.send(message(key=f"k{number}", **fields))
        assert running.recorded(SessionCreated) == []
    assert b"xyzzy" not in bytes_of(path)
    assert platform.sent == []


async def test_a_client_whose_message_was_taken_back_learns_it_at_once_and_may_ask_again(
    path: Path, platform: Platform
) -> None:
    answers: list[object] = [Cancel(), Cancel(), Cancel(), None]
    async with serving(path, platform, hooks=hooks(sending("no", lambda _: answers.pop(0)))) as running:
        for ask in (running.gateway.send, running.gateway.enqueue):
            with pytest.raises(SendFailed, match="it ended as cancelled") as caught:
                await ask(message())
            assert (caught.value.cached, caught.value.final) == (False, False)
        best = await running.gateway.send(message(best_effort=True))
        assert (best.status, best.cached) == (SendStatus.NOT_DELIVERED, False)
        assert "A hook cancelled it" in best.detail
        assert (await running.gateway.send(message())).status is SendStatus.DELIVERED
        assert running.recorded(SendJoined) == []
    assert texts(platform) == ["hi"]


@pytest.mark.parametrize(
    ("change", "media", "sent"),
    [("", (), None), (" \n\t ", (), None), ("", ("/a.png",), "")],
    ids=["nothing", "blanks", "files"],
)
async def test_a_hook_may_leave_nothing_to_be_seen(
    path: Path, platform: Platform, change: str, media: tuple[str, ...], sent: str | None
) -> None:
    async with serving(path, platform, hooks=hooks(sending("blank", Change(change)))) as running:
        await running.gateway.send(message(media=media, best_effort=True))
        [told] = running.recorded(HookSending)
        [settled] = running.recorded(IntentSettled)
    assert texts(platform) == ([] if sent is None else [sent])
    expected = ("cancelled", Reason.EMPTY_AFTER_HOOK) if sent is None else ("modified", Reason.MODIFIED_BY_HOOK)
    assert (told.verdict, told.reason) == expected
    assert settled.state is (IntentState.CANCELLED if sent is None else IntentState.DELIVERED)


async def test_a_text_that_a_hook_makes_too_long_is_not_sent(path: Path, platform: Platform) -> None:
    asked = hooks(sending("long", Change("x" * 101)))
    async with serving(path, platform, hooks=asked, delivery={"max_text": 100}) as running:
        with pytest.raises(SendFailed, match="longer than the gateway accepts"):
            await running.gateway.send(message())
        [told] = running.recorded(HookSending)
    assert (told.verdict, told.reason, platform.sent) == ("cancelled", Reason.TEXT_TOO_LONG, [])


async def test_a_hook_cannot_bring_a_text_that_no_encoding_carries(path: Path, platform: Platform) -> None:
    seen: list[Outgoing] = []
    asked = hooks(sending("half", Change("cut \ud83d"), priority=1), sending("see", seen=seen))
    async with serving(path, platform, hooks=asked) as running:
        await running.gateway.send(message())
    assert (texts(platform), seen[0].text) == (["cut ?"], "cut ?")


# ---------------------------------------------------------------- hooks that fail


class Unspeakable(Exception):
    def __str__(self) -> str:
        return "half \ud83d"


FAILURES: list[Any] = [
    pytest.param(ValueError("oh"), Reason.HOOK_RAISED, "ValueError: oh", id="raises"),
    pytest.param(Unspeakable(), Reason.HOOK_RAISED, "Unspeakable: half ?", id="raises what cannot be stored"),
    pytest.param("another text", Reason.BAD_HOOK_ANSWER, "bad answered 'another text'", id="a text"),
    pytest.param(Change(5), Reason.BAD_HOOK_ANSWER, "bad answered Change(text=5)", id="no text"),  # pyright: ignore[reportArgumentType]
    pytest.param(False, Reason.BAD_HOOK_ANSWER, "bad answered False", id="false"),
    pytest.param({"cancel": True}, Reason.BAD_HOOK_ANSWER, "bad answered {'cancel': True}", id="a dict"),
    pytest.param(Cancel, Reason.BAD_HOOK_ANSWER, "bad answered <class", id="a class"),
]


@pytest.mark.parametrize("required", [False, True])
@pytest.mark.parametrize(("answer", "reason", "detail"), FAILURES)
async def test_a_hook_that_fails_is_recorded_and_cancels_only_where_it_is_required(
    path: Path, platform: Platform, answer: object, reason: Reason, detail: str, required: bool
) -> None:
    # A class is something to call: the others are what they are.
    bad = sending("bad", (lambda _: answer) if isinstance(answer, type) else answer, priority=1, required=required)
    async with serving(path, platform, hooks=hooks(bad, sending("good", Change("good")))) as running:
        outcome = await running.gateway.send(message(best_effort=True))
        [failed] = running.recorded(HookFailed)
        [told] = running.recorded(HookSending)
    assert (failed.hook, failed.phase, failed.reason) == ("bad", "sending", reason)
    assert failed.detail.startswith(detail)
    assert outcome.status is (SendStatus.NOT_DELIVERED if required else SendStatus.DELIVERED)
    assert texts(platform) == ([] if required else ["good"])
    assert (told.verdict, told.by) == (("cancelled", ("bad",)) if required else ("modified", ("good",)))
    assert str(failed).encode()


@pytest.mark.parametrize("required", [False, True])
async def test_a_hook_that_does_not_answer_has_failed(path: Path, platform: Platform, required: bool) -> None:
    async def never(_: Outgoing) -> object:
        await anyio.sleep_forever()
        raise AssertionError

    slow = hooks(SendingHook(name="slow", call=never, required=required))
    async with serving(path, platform, hooks=slow, delivery={"hook_timeout": "10ms"}) as running:
        outcome = await running.gateway.send(message(best_effort=True))
        [failed] = running.recorded(HookFailed)
    assert (failed.hook, failed.reason) == ("slow", Reason.HOOK_RAISED)
    assert outcome.status is (SendStatus.NOT_DELIVERED if required else SendStatus.DELIVERED)


async def test_a_hook_that_is_no_coroutine_has_failed(path: Path, platform: Platform) -> None:
    plain: Any = SendingHook(name="plain", call=lambda _: Change("x"))  # pyright: ignore[reportArgumentType, reportReturnType]
    async with serving(path, platform, hooks=hooks(plain)) as running:
        await running.gateway.send(message())
        [failed] = running.recorded(HookFailed)
    assert (failed.hook, texts(platform)) == ("plain", ["hi"])


async def test_a_hook_that_fails_for_one_message_holds_up_no_other(path: Path, platform: Platform) -> None:
    def moody(shown: Outgoing) -> object:
        if shown.address.conversation == "100":
            raise ZeroDivisionError
        return Cancel() if shown.address.conversation == "200" else None

    asked = hooks(sending("moody", moody))
    async with serving(path, platform, hooks=asked) as running, anyio.create_task_group() as group:
        for number in (100, 200, 300):
            one = message(f"user:{number}", f"to {number}", key=f"k{number}", best_effort=True)
            group.start_soon(running.gateway.send, one)
    assert sorted(texts(platform)) == ["to 100", "to 300"]


# ---------------------------------------------------------------- once


async def test_hooks_see_a_message_once_however_often_it_is_tried(path: Path, platform: Platform) -> None:

    seen: list[Outgoing] = []
    platform.errors = [NotSent("no network")] * 3
    asked = hooks(sending("count", lambda shown: Change(f"{shown.text}{len(seen)}"), seen=seen))
    async with serving(path, platform, hooks=asked, delivery={"backoff": ["1ms"]}) as running:
        await running.gateway.send(message())
        again = await running.gateway.send(message())
        queued = await running.gateway.enqueue(message())
    assert (again.cached, queued.cached, len(seen), texts(platform)) == (True, True, 1, ["hi1"])


async def test_hooks_do_not_see_again_what_an_earlier_process_has_prepared(path: Path, platform: Platform) -> None:
    seen: list[Outgoing] = []
    asked = hooks(sending("count", lambda shown: Change(f"{shown.text}{len(seen)}"), seen=seen))
    platform.hold()
    async with serving(path, platform, hooks=asked) as running:
        await running.gateway.enqueue(message())
        await platform.arrived.wait()
    platform.held.set()
    async with serving(path, platform, hooks=asked) as running:
        await running.until(IntentSettled)
        assert running.recorded(HookSending) == []
    assert (len(seen), texts(platform)) == (1, ["hi1"])


async def test_hooks_do_not_see_again_what_a_turn_that_is_run_again_has_sent(path: Path, platform: Platform) -> None:
    seen: list[Outgoing] = []
    runs: list[str] = []

    async def act(turn: Turn) -> None:
        runs.append(turn.id)
        await turn.send("one")
        if len(runs) == 1:
            await anyio.sleep_forever()
        await turn.send("two")

    told = Told()
    asked = hooks(sending("see", seen=seen), told)
    async with serving(path, platform, agent=Echo(act), hooks=asked) as running:
        platform.say("m1")
        await running.until(HookSent)
    async with serving(path, platform, agent=Echo(act), hooks=asked) as running:
        await running.until(HookSent)
        [again] = running.recorded(IntentSuppressed)[:1]
    assert ([shown.text for shown in seen], again.reason) == (["one", "two"], Reason.ALREADY_QUEUED)
    assert [sent.text for sent in told.all] == texts(platform) == ["one", "two"]
    assert len(runs) == 2


@pytest.mark.parametrize("restart", [False, True])
async def test_hooks_see_and_are_notified_of_the_try_that_is_stored(
    path: Path, platform: Platform, restart: bool
) -> None:
    """A key is tried again after a failure, by the same process, or by one that does not know of it."""
    seen: list[Outgoing] = []
    told = Told()
    asked = hooks(sending("see", seen=seen), told)
    platform.errors = [PlaceGone("archived")]
    async with serving(path, platform, hooks=asked) as running:
        await ended(running, "failed")
        if not restart:
            assert (await running.gateway.send(message())).message_id == "1"
        await running.until(HookSent, 1 if restart else 2)
    if restart:
        async with serving(path, platform, hooks=asked) as running:
            assert (await running.gateway.send(message())).message_id == "1"
            await running.until(HookSent)
    assert told.gist == [("send:k", "failed"), ("send:k+2", "delivered")]
    # A process that does not know the key yet learns of its earlier try when it stores the new one.
    assert [shown.intent for shown in seen] == ["send:k", *["send:k"] * restart, "send:k+2"]


async def test_hooks_see_the_try_that_is_stored_also_where_two_ask_at_once(path: Path, platform: Platform) -> None:
    told = Told()
    meet, came = anyio.Event(), list[str]()

    async def call(shown: Outgoing) -> object:
        came.append(shown.intent)
        if len(came) == 2:
            meet.set()
        await meet.wait()
        return Cancel()

    async def ask(running: Running) -> None:
        with pytest.raises(SendFailed, match="it ended as cancelled"):
            await running.gateway.enqueue(message())

    async with serving(path, platform, hooks=hooks(SendingHook(name="no", call=call), told)) as running:
        async with anyio.create_task_group() as group:
            group.start_soon(ask, running)
            group.start_soon(ask, running)
        await running.until(HookSent, 2)
    assert told.gist == [("send:k", "cancelled"), ("send:k+2", "cancelled")]
    assert set(came) == {"send:k", "send:k+2"}


async def test_what_has_nothing_to_say_enters_no_hook(path: Path, platform: Platform) -> None:
    seen: list[Outgoing] = []
    says = Saying("tool", " \n")
    async with serving(path, platform, agent=says.agent, hooks=hooks(sending("see", seen=seen))) as running:
        await says.begin(running, platform)
        await running.until(IntentSuppressed)
    assert (seen, platform.sent) == ([], [])


async def test_a_dry_run_enters_no_hook_and_leaves_no_trace(path: Path, platform: Platform) -> None:
    seen: list[Outgoing] = []
    told = Told()
    async with serving(path, platform, hooks=hooks(sending("see", Cancel(), seen=seen), told)) as running:
        outcome = await running.gateway.send(message(text=SECRET, dry_run=True))
        [previewed] = running.recorded(SendPreviewed)
        assert running.recorded(HookSending, HookFailed, IntentPrepared, SessionCreated) == []
        assert not any(stored(path).values())
        # Its key is free, and asked in earnest it is another matter.
        with pytest.raises(SendFailed):
            await running.gateway.send(message(text=SECRET))
    assert (outcome.status, outcome.preview, outcome.message_id) == (SendStatus.DRY_RUN, (SECRET,), None)
    assert (previewed.address, previewed.chunks, previewed.session_key) == (direct(), (SECRET,), KEY)
    assert previewed.reason is Reason.DRY_RUN
    assert (len(seen), platform.sent) == (1, [])
    assert b"xyzzy" not in bytes_of(path)
