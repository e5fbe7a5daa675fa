"""The gateway for real: wall-clock time, a store in a file and its thread, and no simulator.

Seed 001: two messages of one direct conversation resume one session, also after a restart, and different peers share
none. The platform and the agent here are as small as a user's own could be.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.support.factories import direct, envelope, room
from tests.support.stores import transcript_of
from trunkline import (
    Address,
    Agent,
    Capabilities,
    ChannelAdapter,
    Envelope,
    EventLog,
    Gateway,
    GatewayConfig,
    HandTask,
    Idempotency,
    Receipt,
    SendRequest,
    SqliteStore,
    Turn,
    connect_file,
    system_env,
)
from trunkline.core.decisions import Decisions
from trunkline.core.errors import Ambiguous, ConfigError, NotSent, PlaceGone, RateLimited, StoreTooNew, UnknownName
from trunkline.core.events import Body, Event
from trunkline.core.events.delivery import AttemptEnded, IntentSettled, IntentSuppressed
from trunkline.core.events.gateway import (
    AdapterEnded,
    AdapterFailed,
    DelegationAccepted,
    InboundAckFailed,
    InboundAdmitted,
    InboundDropped,
    ProcessStarted,
    SessionCreated,
    ToolRefused,
    TurnEnded,
)
from trunkline.core.hands.port import HandRunner
from trunkline.core.reasons import Reason
from trunkline.core.values import IntentState, Peer, TranscriptLine

ANA, BEN = direct("100"), direct("200")


class TinyPlatform:
    """A platform in memory: keeps what it was sent, gives what it is told, wakes who waits for either."""

    channel, account = "discord", "default"
    capabilities = Capabilities(idempotency=Idempotency.KEY)

    def __init__(self) -> None:
        self.acked: list[str] = []
        self.sent: list[SendRequest] = []
        #: errors of the next sends
        self.errors: list[Exception] = []
        self._give, self._take = anyio.create_memory_object_stream[Envelope](100)

    def say(self, message: str, place: Address = ANA, text: str = "hello") -> None:
        peer = Peer(id=place.conversation, name=f"peer {place.conversation}")
        self._give.send_nowait(envelope(place, message_id=message, text=text, peer=peer))

    @asynccontextmanager
    async def connect(self) -> AsyncGenerator[AsyncIterator[Envelope], None]:
        with self._take.clone() as stream:
            yield stream

    async def ack(self, envelope: Envelope) -> None:
        self.acked.append(envelope.message_id)

    async def send(self, request: SendRequest) -> Receipt:
        if self.errors:
            raise self.errors.pop(0)
        self.sent.append(request)
        return Receipt(provider_id=str(len(self.sent)), address=request.address)

    async def find(self, address: Address, key: str) -> Receipt | None:
        raise NotSent("there is no look-up")

    async def open_thread(self, place: Address, message_id: str, title: str) -> Address:
        return place

    def close(self) -> None:
        self._give.close()
        self._take.close()


class Echo:
    """Answers with what it was told, or as it is told to."""

    def __init__(self, act: Callable[[Turn], Awaitable[str | None]] | None = None) -> None:
        self.turns: list[tuple[str, str]] = []
        self._act = act

    async def turn(self, turn: Turn) -> str | None:
        self.turns.append((turn.text, turn.session_id))
        return f"you said {turn.text}" if self._act is None else await self._act(turn)


class Clerk:
    """A hand that answers at once."""

    def has(self, hand: str) -> bool:
        return hand == "clerk"

    async def run(self, task: HandTask) -> str:
        return f"done: {task.task}"


class Running:
    """A gateway that serves, and a way to wait until it has done something."""

    def __init__(self, store: SqliteStore, log: EventLog, gateway: Gateway) -> None:
        self.store = store
        self.log = log
        self.gateway = gateway
        self._changed = anyio.Event()

    def told(self, *bodies: type[Body]) -> list[Any]:
        return [event.body for event in tuple(self.log.events) if isinstance(event.body, bodies)]

    async def until(self, body: type[Body], count: int = 1) -> list[Any]:
        """Wait for so many events with such a body; they may be told by the store's thread."""
        enough, loop = anyio.Event(), asyncio.get_running_loop()

        def look(_: Event) -> None:
            if len(self.told(body)) >= count:
                loop.call_soon_threadsafe(enough.set)

        self.log.subscribe(look, body)
        if len(self.told(body)) < count:
            with anyio.fail_after(30):
                await enough.wait()
        return self.told(body)

    async def transcript(self, key: str) -> list[tuple[str, str]]:
        lines: tuple[TranscriptLine, ...] = await transcript_of(self.store, key)
        return [(line.role, line.text) for line in lines]


@asynccontextmanager
async def serving(
    path: Path,
    platform: TinyPlatform,
    agent: Agent | None = None,
    *more: TinyPlatform,
    runner: HandRunner | None = None,
    decisions: Decisions | None = None,
    **config: Any,
) -> AsyncGenerator[Running, None]:
    """A gateway on a store file, until the block ends. Called again with the same file: a restart."""
    env = system_env()
    log = EventLog(env.now)
    store = SqliteStore(lambda: connect_file(path, durability="normal"), log.recorder("gateway"))
    gateway = Gateway(
        config=GatewayConfig.model_validate(config),
        store=store,
        adapters=[platform, *more],
        agents={"main": agent or Echo()},
        hands=runner or Clerk(),
        env=env,
        events=log.recorder("gateway"),
        decisions=decisions,
    )
    async with anyio.create_task_group() as group:
        group.start_soon(gateway.run)
        yield Running(store, log, gateway)
        group.cancel_scope.cancel()


@pytest.fixture
def platform(anyio_backend: str) -> Iterator[TinyPlatform]:
    tiny = TinyPlatform()
    yield tiny
    tiny.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


pytestmark = pytest.mark.anyio
KEY = "main:discord:default:direct:100"


async def test_a_message_is_answered_once_where_it_came_from_and_both_are_kept(
    path: Path, platform: TinyPlatform
) -> None:
    async with serving(path, platform) as running:
        platform.say("m1", text="hello")
        [settled] = await running.until(IntentSettled)
        assert settled.state is IntentState.DELIVERED
        assert await running.transcript(KEY) == [("user", "hello"), ("assistant", "you said hello")]
        assert platform.acked == ["m1"]
    assert [(request.address, request.text) for request in platform.sent] == [(ANA, "you said hello")]


async def test_two_messages_of_one_direct_conversation_resume_one_session(path: Path, platform: TinyPlatform) -> None:
    agent = Echo()
    async with serving(path, platform, agent) as running:
        platform.say("m1", text="one")
        platform.say("m2", text="two")
        await running.until(IntentSettled, 2)
        [created] = running.told(SessionCreated)
    assert agent.turns == [("one", created.session_id), ("two", created.session_id)]
    assert [request.text for request in platform.sent] == ["you said one", "you said two"]


async def test_the_same_peer_goes_to_the_same_session_after_a_restart(path: Path, platform: TinyPlatform) -> None:
    first, second = Echo(), Echo()
    async with serving(path, platform, first) as running:
        platform.say("m1", text="before")
        await running.until(IntentSettled)
    async with serving(path, platform, second) as running:
        platform.say("m2", text="after")
        await running.until(IntentSettled)
        assert running.told(SessionCreated) == []
        assert [text for role, text in await running.transcript(KEY) if role == "user"] == ["before", "after"]
    assert first.turns[0][1] == second.turns[0][1]


async def test_different_peers_do_not_share_a_session(path: Path, platform: TinyPlatform) -> None:
    agent = Echo()
    async with serving(path, platform, agent) as running:
        platform.say("m1", ANA, "from ana")
        platform.say("m2", BEN, "from ben")
        await running.until(IntentSettled, 2)
        assert await running.transcript("main:discord:default:direct:200") == [
            ("user", "from ben"),
            ("assistant", "you said from ben"),
        ]
    assert len({session for _, session in agent.turns}) == 2


async def test_different_peers_share_a_session_when_it_is_configured(path: Path, platform: TinyPlatform) -> None:
    agent = Echo()
    async with serving(path, platform, agent, session={"dmScope": "main"}) as running:
        platform.say("m1", ANA, "from ana")
        platform.say("m2", BEN, "from ben")
        await running.until(IntentSettled, 2)
    assert len({session for _, session in agent.turns}) == 1
    answered = {request.address.conversation: request.text for request in platform.sent}
    assert answered == {"100": "you said from ana", "200": "you said from ben"}


async def test_a_message_that_comes_twice_is_answered_once(path: Path, platform: TinyPlatform) -> None:
    async with serving(path, platform) as running:
        platform.say("m1")
        await running.until(IntentSettled)
        platform.say("m1")
        [dropped] = await running.until(InboundDropped)
        assert dropped.reason is Reason.DUPLICATE_MESSAGE
    assert len(platform.sent) == 1


async def test_a_message_that_comes_again_after_a_restart_is_answered_once(path: Path, platform: TinyPlatform) -> None:
    async with serving(path, platform) as running:
        platform.say("m1")
        await running.until(IntentSettled)
    async with serving(path, platform) as running:
        platform.say("m1")
        await running.until(InboundDropped)
    assert len(platform.sent) == 1


async def test_a_turn_that_was_cut_off_by_the_end_of_the_process_is_run_again(
    path: Path, platform: TinyPlatform
) -> None:
    begun = anyio.Event()

    async def never(_: Turn) -> str:
        begun.set()
        await anyio.sleep_forever()
        raise AssertionError

    async with serving(path, platform, Echo(never)):
        platform.say("m1", text="hello")
        await begun.wait()
    assert platform.acked == ["m1"]
    async with serving(path, platform) as running:
        await running.until(IntentSettled)
    assert [request.text for request in platform.sent] == ["you said hello"]


async def test_what_the_message_tool_said_is_not_said_again_when_the_turn_is_run_again(
    path: Path, platform: TinyPlatform
) -> None:
    said = anyio.Event()

    async def say_and_hang(turn: Turn) -> str:
        await turn.send("on it")
        said.set()
        await anyio.sleep_forever()
        raise AssertionError

    async def say_and_answer(turn: Turn) -> str:
        await turn.send("on it")
        return "done"

    async with serving(path, platform, Echo(say_and_hang)) as running:
        platform.say("m1")
        await said.wait()
        await running.until(IntentSettled)
    async with serving(path, platform, Echo(say_and_answer)) as running:
        await running.until(IntentSettled)
    assert [request.text for request in platform.sent] == ["on it", "done"]


async def test_an_answer_that_could_not_be_sent_goes_out_after_a_restart_under_the_same_key(
    path: Path, platform: TinyPlatform
) -> None:
    platform.errors = [NotSent("no network")]
    async with serving(path, platform, delivery={"backoff": ["1s"]}) as running:
        platform.say("m1")
        await running.until(AttemptEnded)
        await running.until(InboundAdmitted)
        assert platform.sent == []
    async with serving(path, platform) as running:
        [settled] = await running.until(IntentSettled)
        assert settled.state is IntentState.DELIVERED
    [request] = platform.sent
    assert request.key == f"{request.intent}/0"


async def test_a_failure_before_the_platform_is_tried_again(path: Path, platform: TinyPlatform) -> None:
    platform.errors = [NotSent("no network")]
    async with serving(path, platform, delivery={"backoff": ["1ms"]}) as running:
        platform.say("m1")
        [settled] = await running.until(IntentSettled)
        assert (settled.state, settled.attempts) == (IntentState.DELIVERED, 2)
    assert len(platform.sent) == 1


async def test_a_wait_longer_than_the_age_limit_expires_what_was_marked_as_sending(
    path: Path, platform: TinyPlatform
) -> None:
    platform.capabilities = Capabilities(idempotency=Idempotency.NONE)
    platform.errors = [RateLimited(retry_after=1e6)]
    async with serving(path, platform) as running:
        platform.say("m1", text="one")
        [settled] = await running.until(IntentSettled)
        assert (settled.state, settled.reason) == (IntentState.EXPIRED, Reason.TOO_OLD)
        platform.say("m2", text="two")
        await running.until(IntentSettled, 2)
    assert [request.text for request in platform.sent] == ["you said two"]


async def test_an_ambiguous_send_without_key_or_look_up_is_parked_and_the_next_goes_on(
    path: Path, platform: TinyPlatform
) -> None:
    platform.capabilities = Capabilities(idempotency=Idempotency.NONE)
    platform.errors = [Ambiguous("the line went dead")]
    async with serving(path, platform) as running:
        platform.say("m1", text="one")
        platform.say("m2", text="two")
        parked, delivered = await running.until(IntentSettled, 2)
        assert (parked.state, parked.reason) == (IntentState.UNKNOWN, Reason.PARKED)
        assert delivered.state is IntentState.DELIVERED
    assert [request.text for request in platform.sent] == ["you said two"]


async def test_a_place_that_is_gone_is_not_tried_again_and_nothing_goes_elsewhere(
    path: Path, platform: TinyPlatform
) -> None:
    platform.errors = [PlaceGone("archived")]
    async with serving(path, platform) as running:
        platform.say("m1", room("777", parent="500"))
        [settled] = await running.until(IntentSettled)
        assert (settled.state, settled.reason) == (IntentState.FAILED, Reason.PLACE_GONE)
    assert platform.sent == []


async def test_a_message_without_text_is_dropped_visibly(path: Path, platform: TinyPlatform) -> None:
    async with serving(path, platform) as running:
        platform.say("m1", text="  ")
        [dropped] = await running.until(InboundDropped)
        assert dropped.reason is Reason.EMPTY_MESSAGE
    assert platform.sent == []


async def test_an_agent_that_raises_ends_its_turn_and_nothing_else(path: Path, platform: TinyPlatform) -> None:
    async def fail_once(turn: Turn) -> str:
        if turn.text == "bad":
            raise ZeroDivisionError("oh")
        return "fine"

    async with serving(path, platform, Echo(fail_once)) as running:
        platform.say("m1", text="bad")
        platform.say("m2", text="good")
        failed, replied = await running.until(TurnEnded, 2)
        assert (failed.outcome, failed.reason, failed.detail) == (
            "failed",
            Reason.AGENT_RAISED,
            "ZeroDivisionError: oh",
        )
        assert replied.outcome == "replied"
        await running.until(IntentSettled)
    assert [request.text for request in platform.sent] == ["fine"]


async def test_a_long_answer_is_sent_in_order_and_kept_as_one(path: Path, platform: TinyPlatform) -> None:
    async def recite(_: Turn) -> str:
        return "one two three"

    async with serving(path, platform, Echo(recite), channels={"discord": {"text_limit": 5}}) as running:
        platform.say("m1")
        await running.until(IntentSettled)
        assert (await running.transcript(KEY))[-1] == ("assistant", "one\ntwo\nthree")
    assert [(request.chunk, request.text) for request in platform.sent] == [(0, "one"), (1, "two"), (2, "three")]
    assert len({request.key for request in platform.sent}) == 3


async def test_the_result_of_a_hand_comes_back_to_the_session_that_asked(path: Path, platform: TinyPlatform) -> None:
    async def delegate(turn: Turn) -> str:
        if turn.callback is not None:
            return f"the {turn.callback.hand} says {turn.text}"
        await turn.delegate("clerk", "count")
        return "wait"

    agent = Echo(delegate)
    async with serving(path, platform, agent) as running:
        platform.say("m1")
        await running.until(IntentSettled, 2)
        assert ("hand", "done: count") in await running.transcript(KEY)
    assert {request.text for request in platform.sent} == {"wait", "the clerk says done: count"}
    assert {request.address for request in platform.sent} == {ANA}
    assert len({session for _, session in agent.turns}) == 1


async def test_a_message_to_another_place_is_kept_in_the_session_of_that_place(
    path: Path, platform: TinyPlatform
) -> None:
    async def post(turn: Turn) -> None:
        await turn.send("news", room("500"))

    async with serving(path, platform, Echo(post)) as running:
        platform.say("m1")
        await running.until(IntentSettled)
        assert await running.transcript("main:discord:default:channel:500") == [("assistant", "news")]
        assert await running.transcript(KEY) == [("user", "hello")]


async def test_a_wake_up_has_nowhere_to_answer_to(path: Path, platform: TinyPlatform) -> None:
    agent = Echo()
    async with serving(path, platform, agent) as running:
        await running.until(ProcessStarted)
        platform.say("m1")
        await running.until(IntentSettled)
        await running.gateway.wake("main", "good morning")
        suppressed = await running.until(IntentSuppressed)
        assert [body.reason for body in suppressed] == [Reason.NO_ORIGIN]
        assert await running.transcript("main:main") == [("user", "good morning")]
    assert len(platform.sent) == 1


# ---------------------------------------------------------------- what does not start


def gateway_of(path: Path, adapters: list[ChannelAdapter], agents: dict[str, Agent]) -> Gateway:
    env = system_env()
    events = EventLog(env.now).recorder("gateway")
    return Gateway(
        config=GatewayConfig(),
        store=SqliteStore(lambda: connect_file(path), events),
        adapters=adapters,
        agents=agents,
        hands=Clerk(),
        env=env,
        events=events,
    )


async def test_two_adapters_for_one_account_are_refused(path: Path, platform: TinyPlatform) -> None:
    with pytest.raises(ConfigError, match="two adapters serve the same channel and account"):
        gateway_of(path, [platform, platform], {"main": Echo()})


async def test_an_agent_that_is_configured_but_not_there_is_refused(path: Path, platform: TinyPlatform) -> None:
    with pytest.raises(ConfigError, match="no agent is installed for: main"):
        gateway_of(path, [platform], {"other": Echo()})


async def test_a_store_of_a_newer_version_keeps_the_gateway_from_starting(path: Path, platform: TinyPlatform) -> None:
    db = connect_file(path)
    async with db:
        await db.run(lambda raw: raw.execute("PRAGMA user_version = 9999").fetchall())
    with pytest.raises(StoreTooNew):
        await gateway_of(path, [platform], {"main": Echo()}).run()


@pytest.mark.anyio
async def test_text_that_no_encoding_can_carry_stops_nothing(tmp_path: Path) -> None:
    platform = TinyPlatform()

    async def broken(turn: Turn) -> str:
        return f"{turn.text} \ud83d"

    async with serving(tmp_path / "a", platform, Echo(broken)) as running:
        platform.say("m1", text="cut \ud83d")
        platform.say("m2", text="whole")
        await running.until(IntentSettled, 2)
    platform.close()
    assert [request.text for request in platform.sent] == ["cut ? ?", "whole ?"]


@pytest.mark.anyio
async def test_an_adapter_with_a_defect_stops_nothing(tmp_path: Path) -> None:
    class Defective(TinyPlatform):
        async def ack(self, envelope: Envelope) -> None:
            raise RuntimeError("no ack today")

    platform = Defective()
    platform.errors = [ValueError("a defect")]
    async with serving(tmp_path / "a", platform, delivery={"backoff": [0.001]}) as running:
        platform.say("m1")
        platform.say("m2", BEN)
        settled = await running.until(IntentSettled, 2)
    platform.close()
    assert {body.state for body in settled} == {IntentState.DELIVERED}
    assert len(platform.sent) == 2


@pytest.mark.anyio
async def test_a_connection_that_breaks_is_opened_again(tmp_path: Path) -> None:
    class Shaky(TinyPlatform):
        tries = 0

        @asynccontextmanager
        async def connect(self) -> AsyncGenerator[AsyncIterator[Envelope], None]:
            self.tries += 1
            if self.tries == 1:
                raise NotSent("no route")
            async with super().connect() as stream:
                yield stream

    platform = Shaky()
    async with serving(tmp_path / "a", platform) as running:
        (failed,) = await running.until(AdapterFailed)
        platform.say("m1")
        await running.until(IntentSettled)
    platform.close()
    assert (failed.channel, failed.reason) == ("discord", Reason.NOT_SENT)
    assert platform.tries == 2


async def test_a_hand_that_is_not_there_is_refused_before_any_work(path: Path, platform: TinyPlatform) -> None:
    async def ask(turn: Turn) -> str:
        try:
            await turn.delegate("nobody", "a task")
        except UnknownName as error:
            return f"sorry: {error.facts}"
        return "delegated"

    async with serving(path, platform, Echo(ask)) as running:
        platform.say("m1")
        await running.until(IntentSettled)
    assert [(body.tool, body.reason) for body in running.told(ToolRefused)] == [("delegate", Reason.UNKNOWN_HAND)]
    assert running.told(DelegationAccepted) == []
    assert platform.sent[0].text.startswith("sorry: no hand 'nobody'")


async def test_an_ack_that_fails_and_a_stream_that_ends_are_recorded(path: Path, platform: TinyPlatform) -> None:
    async def refuse(envelope: Envelope) -> None:
        raise NotSent("no network")

    platform.ack = refuse
    async with serving(path, platform) as running:
        platform.say("m1")
        (failed,) = await running.until(InboundAckFailed)
        platform.close()
        await running.until(AdapterEnded)
    assert "no network" in failed.detail
