"""What a message of a person passes on its way in and a callback does not (S12), and what holds for both.

Each test changes what would decide on a new message between the question and its result, or gives a result a text that
would mean something in a message.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from tests.support.bindings import Binder
from tests.support.callbacks import Caller, HeldClerk
from tests.support.factories import envelope, room
from tests.support.sending import Platform, serving
from tests.support.small_gateway import ANA, KEY, Running
from trunkline import Address, Capabilities, Change, Decisions, GatewayConfig, Hooks, Outgoing, SendingHook, Turn
from trunkline.core.decisions import MirrorPlan, MirrorQuestion, plan_mirror
from trunkline.core.errors import DelegationRefused, PolicyDenied
from trunkline.core.events.bindings import BindingTouched, ControlCalled
from trunkline.core.events.delivery import IntentSettled, IntentSuppressed
from trunkline.core.events.gateway import InboundDropped, RouteDecided, TurnEnded
from trunkline.core.events.hands import CallbackChanged
from trunkline.core.reasons import Reason
from trunkline.core.states.delegation import CallbackState
from trunkline.core.values import Idempotency, IntentKind, Markup, Peer

pytestmark = pytest.mark.anyio

HALL = room("500")
TWO = [{"id": "main"}, {"id": "ops"}]


class Opens(Platform):
    """Notes which thread is opened, and for what."""

    def __init__(self, **can: Any) -> None:
        super().__init__()
        self.capabilities = Capabilities(**{"idempotency": Idempotency.KEY, **can})
        self.opened: list[tuple[Address, str]] = []

    async def open_thread(self, place: Address, message_id: str, title: str) -> Address:
        self.opened.append((place, message_id))
        return place


@pytest.fixture
def discord(anyio_backend: str) -> Iterator[Opens]:
    platform = Opens()
    yield platform
    platform.close()


@pytest.fixture
def hand(anyio_backend: str) -> HeldClerk:
    return HeldClerk()


async def asked(running: Running, platform: Platform, hand: HeldClerk, place: Address = ANA) -> None:
    """Somebody has asked, and was answered; the hand works."""
    platform.say("m1", place, "count")
    await hand.working.wait()
    await running.until(IntentSettled)


async def reported(running: Running, hand: HeldClerk, count: int = 2) -> None:
    hand.released.set()
    await running.until(IntentSettled, count)


def reload(running: Running, **config: Any) -> None:
    running.gateway.reload(GatewayConfig.model_validate(config))


# -------------------------------------------------------------------- skipped


async def test_routing_is_skipped(path: Path, discord: Opens, hand: HeldClerk) -> None:
    """The conversation has another agent by now; the result belongs to the one that delegated."""
    agent = Caller()
    async with serving(path, discord, agent=agent, runner=hand, agents=TWO) as running:
        await asked(running, discord, hand)
        reload(running, agents=TWO, bindings=[{"agent": "ops", "match": {"channel": "discord"}}])
        await reported(running, hand)
        assert len(running.recorded(RouteDecided)) == 1
    [callback] = agent.callbacks
    assert (callback.agent, callback.session_key) == ("main", KEY)
    assert [one.text for one in discord.sent] == ["on it: count", "result: done: count"]


async def test_no_decision_on_messages_is_asked(path: Path, discord: Opens, hand: HeldClerk) -> None:
    asked_for: list[str] = []
    names = ("canonical", "resolve_route", "route_bound", "plan_reply", "identify", "also_known_as")
    usual = Decisions()

    def noting(name: str) -> Any:
        def decide(*args: Any) -> Any:
            asked_for.append(name)
            return getattr(usual, name)(*args)

        return decide

    decisions = Decisions(**{name: noting(name) for name in names})
    async with serving(path, discord, agent=Caller(), runner=hand, decisions=decisions) as running:
        await asked(running, discord, hand)
        assert set(asked_for) == set(names)
        asked_for.clear()
        await reported(running, hand)
        assert asked_for == []


async def test_the_filter_of_bots_is_skipped(path: Path, discord: Opens, hand: HeldClerk) -> None:
    """A bot asked while bots were allowed: it still gets its answer, and its next message is ignored."""
    allowed = {"discord": {"bots": "allow"}}
    bot = envelope(ANA, message_id="m1", text="count", peer=Peer(id="9", name="robot"))
    async with serving(path, discord, agent=Caller(), runner=hand, channels=allowed) as running:
        discord._give.send_nowait(msgspec.structs.replace(bot, bot=True))
        await hand.working.wait()
        await running.until(IntentSettled)
        reload(running)
        await reported(running, hand)
        discord._give.send_nowait(msgspec.structs.replace(bot, bot=True, message_id="m2"))
        [dropped] = await running.until(InboundDropped)
    assert dropped.reason is Reason.BOT_IGNORED
    assert [one.text for one in discord.sent] == ["on it: count", "result: done: count"]


@pytest.mark.parametrize("before", [True, False])
async def test_whether_a_thread_is_opened_is_not_decided_again(
    path: Path, discord: Opens, hand: HeldClerk, before: bool
) -> None:
    """The answer goes where the first one went: into the thread that was opened then, or into none."""
    channels = {"discord": {"auto_thread": before}}
    async with serving(path, discord, agent=Caller(), runner=hand, channels=channels) as running:
        await asked(running, discord, hand, HALL)
        reload(running, channels={"discord": {"auto_thread": not before}})
        await reported(running, hand)
    first, second = discord.sent
    assert second.address == first.address
    assert (first.address == HALL) is not before
    assert len(discord.opened) == before


@pytest.mark.parametrize("stable", [True, False])
async def test_duplicates_are_not_recognised_by_what_identifies_messages(
    path: Path, anyio_backend: str, stable: bool
) -> None:
    """Two hands return the same text for the same place, which a platform without stable ids would take for one."""
    platform, agent, hand = Opens(stable_ids=stable), Caller(), HeldClerk("the same", held=False)
    async with serving(path, platform, agent=agent, runner=hand) as running:
        platform.say("m1", ANA, "count one")
        platform.say("m2", ANA, "count two")
        await running.until(IntentSettled, 4)
        assert running.recorded(InboundDropped) == []
    platform.close()
    assert [one.text for one in agent.callbacks] == ["the same", "the same"]


@pytest.mark.parametrize("text", ["/unfocus", "/focus main", "/agents", "/cancel"])
async def test_a_result_is_no_chat_command(path: Path, discord: Opens, text: str) -> None:
    agent, hand = Caller(), HeldClerk(text, held=False)
    control = {"enabled": True, "owners": ["discord:hand:clerk", "discord:100"]}
    async with serving(path, discord, agent=agent, runner=hand, control=control) as running:
        platform_says = discord.say
        platform_says("m1", ANA, "count")
        await running.until(IntentSettled, 2)
        assert running.recorded(ControlCalled) == []
    assert [one.text for one in agent.callbacks] == [text]


@pytest.mark.parametrize("text", ["", " \n"])
async def test_an_empty_result_is_a_result(path: Path, discord: Opens, text: str) -> None:
    """A blank message is dropped. A hand that has nothing to say has ended all the same."""
    agent, hand = Caller(), HeldClerk(text, held=False)
    async with serving(path, discord, agent=agent, runner=hand) as running:
        discord.say("m1", ANA, "count")
        await running.until(IntentSettled, 2)
        assert running.recorded(InboundDropped) == []
    [callback] = agent.callbacks
    assert callback.text == text
    assert "outcome: ok" in callback.for_model


async def test_a_result_is_no_sign_of_life_of_a_person(path: Path, discord: Opens, hand: HeldClerk) -> None:
    """A heartbeat that waits for people to be silent does not wait for hands."""
    async with serving(path, discord, agent=Caller(), runner=hand) as running:
        await asked(running, discord, hand)
        heard = dict(running.gateway._ctx.inbound_at)
        assert heard
        await reported(running, hand)
        assert running.gateway._ctx.inbound_at == heard


async def test_nobody_acknowledges_a_result_to_a_platform(path: Path, discord: Opens, hand: HeldClerk) -> None:
    async with serving(path, discord, agent=Caller(), runner=hand) as running:
        await asked(running, discord, hand)
        await reported(running, hand)
    assert discord.acked == ["m1"]


# -------------------------------------------------------------------- applied


async def test_hooks_are_applied(path: Path, discord: Opens, hand: HeldClerk) -> None:
    async def redact(outgoing: Outgoing) -> Change:
        return Change(text=outgoing.text.replace("count", "[redacted]"))

    hooks = Hooks(sending=(SendingHook(name="redact", call=redact),))
    async with serving(path, discord, agent=Caller(), runner=hand, hooks=hooks) as running:
        await asked(running, discord, hand)
        await reported(running, hand)
    assert [one.text for one in discord.sent] == ["on it: [redacted]", "result: done: [redacted]"]


async def test_a_long_answer_is_cut_and_stays_one_message_of_one_delegation(path: Path, discord: Opens) -> None:
    """S20: the chunks share the intent, and the intent belongs to the delegation."""
    agent, hand = Caller(), HeldClerk("word " * 30, held=False)
    async with serving(path, discord, agent=agent, runner=hand, channels={"discord": {"text_limit": 60}}) as running:
        discord.say("m1", ANA, "count")
        await running.until(IntentSettled, 2)
        events = [event for event in running.log.events if isinstance(event.body, IntentSettled)]
    chunks = [one for one in discord.sent if one.intent.endswith(".back.reply")]
    assert len(chunks) > 2
    assert all(len(one.text) <= 60 for one in chunks)
    assert len({one.intent for one in chunks}) == 1
    assert len({one.key for one in chunks}) == len(chunks)
    [callback] = agent.callbacks
    assert callback.callback is not None
    assert [event.delegation for event in events] == [None, callback.callback.delegation]


async def test_the_markup_of_the_platform_is_applied(path: Path, anyio_backend: str) -> None:
    platform, hand = Opens(markup=Markup.HTML), HeldClerk("**47** mails", held=False)
    async with serving(path, platform, agent=Caller(), runner=hand) as running:
        platform.say("m1", ANA, "count")
        await running.until(IntentSettled, 2)
    platform.close()
    assert platform.sent[1].html == "result: <b>47</b> mails"


async def test_the_cross_context_policy_is_applied(path: Path, discord: Opens, hand: HeldClerk) -> None:
    """A result may not leave its platform by the message tool where a message may not."""
    denied: list[str] = []

    async def leak(turn: Turn) -> str:
        try:
            await turn.send(turn.text, to="user:7", channel="telegram")
        except PolicyDenied as error:
            denied.append(str(error))
        return "kept"

    telegram = Platform("telegram")
    async with serving(path, discord, telegram, agent=Caller(leak), runner=hand) as running:
        await asked(running, discord, hand)
        await reported(running, hand)
    telegram.close()
    assert len(denied) == 1
    assert telegram.sent == []


async def test_a_mark_names_the_person_who_asked_and_not_the_hand(path: Path, discord: Opens, hand: HeldClerk) -> None:
    async def forward(turn: Turn) -> str:
        await turn.send("47 mails", to="user:7", channel="telegram")
        return "sent on"

    telegram = Platform("telegram")
    tools = {"message": {"cross_context": {"allow_across_providers": True}}}
    async with serving(path, discord, telegram, agent=Caller(forward), runner=hand, tools=tools) as running:
        await asked(running, discord, hand)
        await reported(running, hand, 3)
    telegram.close()
    [sent] = telegram.sent
    assert "peer 100" in sent.text
    assert "clerk" not in sent.text


async def test_an_answer_to_a_result_quotes_nothing(path: Path, discord: Opens, hand: HeldClerk) -> None:
    """Its message is the hand's, which the platform does not know."""
    channels = {"discord": {"reply_reference": True}}
    async with serving(path, discord, agent=Caller(), runner=hand, channels=channels) as running:
        await asked(running, discord, hand)
        await reported(running, hand)
    assert [one.reply_to for one in discord.sent] == ["m1", None]


async def test_the_budget_of_runs_is_applied(path: Path, discord: Opens) -> None:
    """A result that took the process down in every allowed run ends there, and the person gets the notice."""
    began = anyio.Event()

    async def hang(turn: Turn) -> str:
        began.set()
        await anyio.sleep_forever()
        return ""

    agent, hand = Caller(hang), HeldClerk(held=False)
    async with serving(path, discord, agent=agent, runner=hand) as running:
        discord.say("m1", ANA, "count")
        await began.wait()
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE inbox SET runs = 1, charged = 1, begun = 1 WHERE kind = 'callback'")
    again = Opens()
    async with serving(path, again, agent=agent, runner=hand, turns={"failed_notice": "Sorry."}) as running:
        [ended] = await running.until(TurnEnded)
        await running.until(IntentSettled)
        [*_, changed] = running.recorded(CallbackChanged)
    again.close()
    assert (ended.outcome, ended.reason) == ("failed", Reason.RUNS_EXHAUSTED)
    assert (changed.state, changed.reason) == (CallbackState.UNDELIVERABLE, Reason.RUNS_EXHAUSTED)
    assert [one.text for one in again.sent] == ["Sorry."]
    assert len(agent.callbacks) == 1


async def test_a_discarded_report_whose_runs_are_used_up_has_no_notice(path: Path, discord: Opens) -> None:
    began = anyio.Event()

    async def hang(turn: Turn) -> str:
        began.set()
        await anyio.sleep_forever()
        return ""

    agent, hand = Caller(hang), HeldClerk(held=False)
    async with serving(path, discord, agent=agent, runner=hand) as running:
        discord.say("m1", ANA, "count")
        await began.wait()
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE inbox SET runs = 2, charged = 2 WHERE kind = 'callback'")
        db.execute("UPDATE delegations SET callback = 'suppressed', callback_reason = 'discarded'")
    again = Opens()
    async with serving(path, again, agent=agent, runner=hand) as running:
        [ended] = await running.until(TurnEnded)
        again.say("m2", room("700"), "hello")
        await running.until(IntentSettled)
    again.close()
    assert (ended.outcome, ended.reason) == ("silent", Reason.DISCARDED)
    assert [one.text for one in again.sent] == ["on it: hello"]


async def test_a_notice_at_the_end_of_a_chain_that_cannot_be_prepared_is_an_event(path: Path, discord: Opens) -> None:
    async def again(turn: Turn) -> str:
        with pytest.raises(DelegationRefused):
            await turn.delegate("clerk", "once more")
        return "that was all"

    def no_notices(question: MirrorQuestion, config: GatewayConfig) -> MirrorPlan:
        if question.kind is IntentKind.NOTICE:
            raise ValueError("no session")
        return plan_mirror(question, config)

    decisions, hand = Decisions(plan_mirror=no_notices), HeldClerk(held=False)
    async with serving(
        path, discord, agent=Caller(again), runner=hand, decisions=decisions, turns={"chain": 1}
    ) as running:
        discord.say("m1", ANA, "count")
        await running.until(IntentSettled, 2)
        [suppressed] = running.recorded(IntentSuppressed)
    assert (suppressed.reason, suppressed.detail) == (Reason.CHAIN_EXCEEDED, "no notice: ValueError: no session")
    assert [one.text for one in discord.sent] == ["on it: count", "that was all"]


async def test_the_idle_time_of_a_binding_is_not_moved_by_a_result(path: Path, anyio_backend: str) -> None:
    """Its answer is said in the conversation and moves it; what the hand returned was not."""
    binder, agent, hand = Binder(), Caller(), HeldClerk()
    async with serving(path, binder, agent=agent, runner=hand) as running:
        record = await running.gateway.bindings.bind(
            target_session_key="main:main", conversation=HALL, new_session=True, idle_timeout=600.0
        )
        binder.say("m1", HALL, "count")
        await hand.working.wait()
        await running.until(IntentSettled)
        assert [one.by for one in await running.until(BindingTouched, 2)] == ["inbound", "outbound"]
        await reported(running, hand)
        assert [one.by for one in await running.until(BindingTouched, 3)] == ["inbound", "outbound", "outbound"]
    binder.close()
    assert record.conversation == HALL
    assert len(agent.callbacks) == 1
