"""What a real gateway does not take as it is: what an adapter cannot do, texts that are too long; and broadcasts."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.support.factories import direct, room
from tests.support.hooks import Saying
from tests.support.sending import Platform, Tried, message, places, serving, stored, texts
from tests.support.small_gateway import Echo
from trunkline import Capabilities, Capability, Idempotency, Poll, SendStatus, Target, Turn
from trunkline.core.errors import Ambiguous, InvalidSend, PlaceGone, TargetError, UnknownName
from trunkline.core.events.delivery import IntentPrepared, IntentSettled, SendPreviewed, SendRefused
from trunkline.core.events.gateway import ToolRefused, TurnEnded
from trunkline.core.reasons import Reason
from trunkline.core.values import IntentState

pytestmark = pytest.mark.anyio

KEY = "main:discord:default:direct:100"
PLAIN = frozenset({Capability.TEXT, Capability.MESSAGE_IDS})
ABLE = Capabilities().can | {Capability.POLL, Capability.PAYLOAD}
POLL = Poll(question="where to?", options=("sea", "hills"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def platform(anyio_backend: str) -> Iterator[Platform]:
    tiny = Platform()
    yield tiny
    tiny.close()


# ---------------------------------------------------------------- what an adapter can do


UNABLE: list[Any] = [
    pytest.param({"media": ("/a.png",)}, Reason.UNSUPPORTED, "no media", id="media"),
    pytest.param({"text": "MEDIA:/a.png"}, Reason.UNSUPPORTED, "no media", id="media in the text"),
    pytest.param({"poll": POLL}, Reason.UNSUPPORTED, "no poll", id="poll"),
    pytest.param({"payload": "{}"}, Reason.UNSUPPORTED, "no payload", id="payload"),
]


@pytest.mark.parametrize("dry_run", [False, True])
@pytest.mark.parametrize(("fields", "reason", "says"), UNABLE)
async def test_what_an_adapter_cannot_do_is_refused_before_anything_is_stored(
    path: Path, anyio_backend: str, fields: dict[str, Any], reason: Reason, says: str, dry_run: bool
) -> None:
    platform = Tried(can=PLAIN)
    async with serving(path, platform) as running:
        with pytest.raises(InvalidSend, match=says) as caught:
            await running.gateway.send(message(dry_run=dry_run, **fields))
        [refused] = running.recorded(SendRefused)
        assert not any(stored(path).values())
        # The key is free, and a text goes.
        assert (await running.gateway.send(message())).status is SendStatus.DELIVERED
    assert (caught.value.reason, refused.reason) == (reason, reason)
    assert "discord:default" in refused.detail
    assert texts(platform) == ["hi"]
    platform.close()


BAD_POLLS: list[Any] = [
    pytest.param(Poll(question="?", options=("one",)), "at least 2 options", id="one option"),
    pytest.param(Poll(question="?", options=("one", " ")), "at least 2 options", id="a blank option"),
    pytest.param(Poll(question=" ", options=("a", "b")), "question is required", id="no question"),
    pytest.param(Poll(question="?", options=("a", "b", "c", "d")), "at most 3 options", id="too many"),
    pytest.param(Poll(question="?", options=("a", "b"), max_selections=3), "cannot exceed", id="too many to choose"),
]


@pytest.mark.parametrize(("poll", "says"), BAD_POLLS)
async def test_a_poll_that_cannot_be_asked_is_refused(path: Path, anyio_backend: str, poll: Poll, says: str) -> None:
    platform = Tried(can=ABLE, poll_options=3)
    async with serving(path, platform) as running:
        with pytest.raises(InvalidSend, match=says):
            await running.gateway.send(message(text="look", poll=poll))
        assert [body.reason for body in running.recorded(SendRefused)] == [Reason.BAD_POLL]
        assert not any(stored(path).values())
    assert platform.tried == []
    platform.close()


async def test_a_poll_and_a_payload_reach_the_platform_over_a_restart(path: Path, anyio_backend: str) -> None:
    platform = Tried(can=ABLE)
    platform.hold()
    async with serving(path, platform) as running:
        await running.gateway.enqueue(message(text="", poll=Poll(question="where to?", options=(" sea", "hills ", ""))))
        await running.gateway.enqueue(message(text="a card", payload='{"card": 1}', key="k2"))
        await platform.arrived.wait()
    platform.held.set()
    async with serving(path, platform) as running:
        await running.until(IntentSettled, 2)
        assert await running.transcript(KEY) == [("assistant", "where to?"), ("assistant", "a card")]
    assert [(request.text, request.poll, request.payload) for request in platform.sent] == [
        ("where to?", POLL, None),
        ("a card", None, '{"card": 1}'),
    ]
    platform.close()


# ---------------------------------------------------------------- texts


LONG = "x" * 101
SHORT: dict[str, Any] = {"delivery": {"max_text": 100}}


async def test_a_client_learns_that_its_text_is_too_long(path: Path, platform: Platform) -> None:
    async with serving(path, platform, **SHORT) as running:
        for dry_run in (False, True):
            with pytest.raises(InvalidSend, match="101 characters, but the limit is 100") as caught:
                await running.gateway.send(message(text=LONG, dry_run=dry_run))
            assert caught.value.reason is Reason.TEXT_TOO_LONG
        assert [body.reason for body in running.recorded(SendRefused)] == [Reason.TEXT_TOO_LONG] * 2
        assert not any(stored(path).values())
        await running.gateway.send(message(text="x" * 100))
    assert [len(text) for text in texts(platform)] == [100]


async def test_an_agent_learns_that_what_it_sends_is_too_long(path: Path, platform: Platform) -> None:
    caught: list[InvalidSend] = []

    async def send(turn: Turn) -> str:
        try:
            await turn.send(LONG)
        except InvalidSend as error:
            caught.append(error)
        return "sorry"

    async with serving(path, platform, agent=Echo(send), **SHORT) as running:
        platform.say("m1")
        await running.until(IntentSettled)
        [refused] = running.recorded(ToolRefused)
        assert [body.outcome for body in running.recorded(TurnEnded)] == ["replied"]
    assert [error.reason for error in caught] == [refused.reason] == [Reason.TEXT_TOO_LONG]
    assert refused.detail == caught[0].facts
    assert texts(platform) == ["sorry"]


async def test_an_answer_that_is_too_long_ends_its_turn_visibly_and_once(path: Path, platform: Platform) -> None:
    says = Saying("reply", LONG)
    async with serving(path, platform, agent=says.agent, **SHORT) as running:
        platform.say("m1")
        [ended] = await running.until(TurnEnded)
        [notice] = running.recorded(IntentPrepared)
        assert notice.reason is Reason.ERROR_NOTICE
        await running.until(IntentSettled)
    async with serving(path, platform, agent=says.agent, **SHORT) as running:
        # It is over, and is not run again.
        await running.gateway.send(message())
        assert running.recorded(TurnEnded) == []
    assert (ended.outcome, ended.reason) == ("failed", Reason.TEXT_TOO_LONG)
    assert "101 characters" in ended.detail
    assert texts(platform) == [notice.text, "hi"]


async def test_a_result_that_is_too_long_is_posted_cut_and_says_so(path: Path, platform: Platform) -> None:
    says = Saying("announce", LONG)
    async with serving(path, platform, agent=says.agent, runner=says.runner, **says.config, **SHORT) as running:
        platform.say("m1")
        await running.until(IntentSettled)
    [text] = texts(platform)
    assert (len(text), text.lstrip("x")) == (100, " [cut: 101 characters]")


@pytest.mark.parametrize("way", ["reply", "tool", "announce"])
async def test_what_no_encoding_carries_is_sent_as_far_as_it_can_be(path: Path, platform: Platform, way: str) -> None:
    says = Saying(way, "cut \ud83d off")
    async with serving(path, platform, agent=says.agent, runner=says.runner, **says.config) as running:
        platform.say("m1")
        [settled] = await running.until(IntentSettled)
        assert ("assistant", "cut ? off") in await running.transcript(KEY)
    assert (settled.state, texts(platform)) == (IntentState.DELIVERED, ["cut ? off"])


async def test_ten_megabytes_are_refused_and_a_long_text_is_cut_and_sent(path: Path, platform: Platform) -> None:
    async with serving(path, platform) as running:
        with pytest.raises(InvalidSend, match="10000000 characters"):
            await running.gateway.send(message(text="word " * 2_000_000))
        assert not any(stored(path).values())
        await running.gateway.send(message(text="word " * 20_000))
    assert {len(text) <= 2000 for text in texts(platform)} == {True}
    assert " ".join(texts(platform)).split() == ["word"] * 20_000


# ---------------------------------------------------------------- a dry run


async def test_a_dry_run_says_what_would_be_sent_and_does_nothing(path: Path, platform: Platform) -> None:
    asked = message("channel:500", "one two", media=("https://e.com/a.png?x=1",), dry_run=True)
    async with serving(path, platform, channels={"discord": {"text_limit": 5}}) as running:
        outcome = await running.gateway.send(asked)
        twice = await running.gateway.send(asked)
        queued = await running.gateway.enqueue(asked)
        assert outcome == twice == queued
        assert not any(stored(path).values())
        [previewed, *_] = running.recorded(SendPreviewed)
        assert (await running.gateway.send(message("channel:500"))).cached is False
    assert (outcome.status, outcome.preview, outcome.message_id, outcome.cached) == (
        SendStatus.DRY_RUN,
        ("one", "two"),
        None,
        False,
    )
    assert (outcome.conversation, outcome.session_key) == ("500", "main:discord:default:channel:500")
    assert (previewed.address, previewed.media) == (room("500"), ("a.png",))
    assert texts(platform) == ["hi"]


async def test_a_dry_run_is_refused_as_the_send_would_be(path: Path, platform: Platform) -> None:
    async with serving(path, platform) as running:
        for fields, error in (({"to": "@nobody"}, TargetError), ({"account": "work"}, UnknownName)):
            with pytest.raises(error):
                await running.gateway.send(message(**{"to": "user:1", **fields}, dry_run=True))
        assert not any(stored(path).values())


async def test_a_dry_run_of_a_key_that_has_sent_sends_nothing_and_says_nothing_of_it(
    path: Path, platform: Platform
) -> None:
    async with serving(path, platform) as running:
        await running.gateway.send(message())
        before = stored(path)
        outcome = await running.gateway.send(message(text="other", dry_run=True))
        assert stored(path) == before
    assert (outcome.status, outcome.preview, texts(platform)) == (SendStatus.DRY_RUN, ("other",), ["hi"])


# ---------------------------------------------------------------- broadcasts


async def test_each_target_of_a_broadcast_is_judged_by_itself(path: Path, anyio_backend: str) -> None:
    class Picky(Platform):
        async def send(self, request: Any) -> Any:
            errors = {"200": PlaceGone("archived"), "300": Ambiguous("no answer")}
            if request.address.conversation in errors:
                raise errors[request.address.conversation]
            return await super().send(request)

    picky, telegram = Picky(), Platform("telegram")
    picky.capabilities = Capabilities(idempotency=Idempotency.NONE)
    targets = [
        Target(to="user:100", channel="discord"),
        Target(to="user:200", channel="discord"),
        Target(to="@nobody", channel="discord"),
        Target(to=direct("300")),
        Target(to="42", channel="telegram"),
        Target(to="42", channel="slack"),
    ]
    async with serving(path, picky, telegram) as running:
        results = await running.gateway.broadcast(message(key="news"), targets)
        again = await running.gateway.broadcast(message(key="news"), targets)
        states = {
            event.intent: event.body.state for event in running.log.events if isinstance(event.body, IntentSettled)
        }
    assert [one.target for one in results] == targets
    assert [None if one.outcome is None else one.outcome.status.value for one in results] == [
        "delivered",
        None,
        None,
        None,
        "delivered",
        None,
    ]
    for one, says in zip(
        results, ("", "it ended as failed", "@nobody", "it ended as unknown", "", "'slack' is not served"), strict=True
    ):
        assert says in one.error and bool(says) == bool(one.error)
    assert states["send:news/user:100/discord"] is IntentState.DELIVERED
    assert states["send:news/discord:default/300"] is IntentState.UNKNOWN
    # Asked again, nothing is sent twice, and only what surely failed is tried again.
    assert [one.outcome is not None and one.outcome.cached for one in again] == [True, False, False, False, True, False]
    assert (places(picky), places(telegram)) == ([direct("100")], [direct("42", channel="telegram")])
    for one in (picky, telegram):
        one.close()


async def test_a_slow_target_of_a_broadcast_holds_up_no_other(path: Path, platform: Platform) -> None:
    telegram = Platform("telegram")
    telegram.hold()
    targets = [Target(to="42", channel="telegram"), Target(to="user:100", channel="discord")]
    async with serving(path, platform, telegram) as running, anyio.create_task_group() as group:
        group.start_soon(running.gateway.broadcast, message(), targets)
        await running.until(IntentSettled)
        assert (texts(platform), texts(telegram)) == (["hi"], [])
        telegram.held.set()
        await running.until(IntentSettled, 2)
    assert texts(telegram) == ["hi"]
    telegram.close()


@pytest.mark.parametrize(
    ("targets", "says"),
    [
        ([], "at least one target"),
        ([Target(to="user:1"), Target(to="user:2"), Target(to="user:1")], "named twice: user:1"),
    ],
)
async def test_a_broadcast_to_nobody_or_twice_to_one_is_refused(
    path: Path, platform: Platform, targets: list[Target], says: str
) -> None:
    async with serving(path, platform) as running:
        await running.gateway.send(message())
        before = stored(path)
        with pytest.raises(InvalidSend, match=says):
            await running.gateway.broadcast(message(key="k2"), targets)
        assert stored(path) == before
        [refused] = running.recorded(SendRefused)
    assert (refused.key, refused.reason) == ("k2", Reason.BAD_TARGET)
    assert says in refused.detail


async def test_a_best_effort_broadcast_reports_and_does_not_raise(path: Path, platform: Platform) -> None:
    platform.errors = [PlaceGone("archived")]
    async with serving(path, platform) as running:
        [one] = await running.gateway.broadcast(message(best_effort=True), [Target(to="user:100")])
    assert one.outcome is not None
    assert (one.outcome.status, one.error) == (SendStatus.NOT_DELIVERED, "")
