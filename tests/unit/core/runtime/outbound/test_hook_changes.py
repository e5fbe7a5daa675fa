"""What hooks may change besides the text: files, the quoted message, and the place."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.factories import direct, room
from tests.support.hooks import WAYS, Saying, hooks, sending
from tests.support.sending import Platform, message, serving, texts
from trunkline import Address, Change, Outgoing, Turn
from trunkline.core.events.actions import PolicyDecided
from trunkline.core.events.delivery import HookFailed, HookSending, IntentPrepared, IntentSettled
from trunkline.core.events.gateway import SessionCreated
from trunkline.core.reasons import Reason
from trunkline.core.values import Capabilities, Capability, Idempotency, IntentState

pytestmark = pytest.mark.anyio

HOME = "main:discord:default:direct:100"
OPS, OPS_KEY = room("500"), "main:discord:default:channel:500"
ELSEWHERE = Address(channel="slack", account="default", kind=OPS.kind, conversation="C1")
NOBODY = Address(channel="discord", account="nobody", kind=OPS.kind, conversation="500")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def platform(anyio_backend: str) -> Iterator[Platform]:
    tiny = Platform()
    usual = Capabilities().can
    tiny.capabilities = Capabilities(idempotency=Idempotency.KEY, can=usual | {Capability.MEDIA})
    yield tiny
    tiny.close()


@pytest.fixture
def slack(anyio_backend: str) -> Iterator[Platform]:
    tiny = Platform("slack")
    tiny.capabilities = Capabilities(idempotency=Idempotency.KEY, can=Capabilities().can - {Capability.MEDIA})
    yield tiny
    tiny.close()


# ---------------------------------------------------------------- files and quotes


@pytest.mark.parametrize("way", WAYS)
async def test_files_are_sent_stored_and_remembered_as_a_hook_leaves_them(
    path: Path, platform: Platform, way: str
) -> None:
    says, seen = Saying(way, "look"), list[Outgoing]()
    asked = hooks(sending("add", Change(media=("/cat.png",)), priority=1), sending("see", seen=seen))
    async with serving(path, platform, agent=says.agent, runner=says.runner, hooks=asked, **says.config) as running:
        await says.begin(running, platform)
        await running.until(IntentSettled)
        assert ("assistant", "look\ncat.png") in await running.transcript(HOME)
        [told] = running.recorded(HookSending)
    [sent] = platform.sent
    assert (sent.text, sent.media) == ("look", ("/cat.png",))
    assert (told.verdict, told.by, told.changed, told.to) == ("modified", ("add",), ("media",), None)
    assert [shown.media for shown in seen] == [("/cat.png",)]


async def test_a_hook_takes_files_away_and_nothing_is_left(path: Path, platform: Platform) -> None:
    asked = hooks(sending("none", Change(text="", media=())))
    async with serving(path, platform, hooks=asked) as running:
        await running.gateway.send(message(text="", media=("/cat.png",), best_effort=True))
        [settled] = running.recorded(IntentSettled)
    assert (settled.state, settled.reason) == (IntentState.CANCELLED, Reason.EMPTY_AFTER_HOOK)
    assert platform.sent == []


async def test_the_quoted_message_is_the_one_that_a_hook_names(path: Path, platform: Platform) -> None:
    answers = iter(["7", None])
    asked = hooks(sending("quote", lambda _: Change(reply_to=next(answers))))
    async with serving(path, platform, hooks=asked) as running:
        await running.gateway.send(message(key="a", reply_to="9"))
        await running.gateway.send(message(key="b", reply_to="9"))
        assert [told.changed for told in running.recorded(HookSending)] == [("reply_to",)] * 2
    assert [sent.reply_to for sent in platform.sent] == ["7", None]


async def test_an_answer_that_repeats_everything_changes_nothing(path: Path, platform: Platform) -> None:
    def same(shown: Outgoing) -> Change:
        return Change(text=shown.text, media=shown.media, reply_to=shown.reply_to, to=shown.address)

    async with serving(path, platform, hooks=hooks(sending("same", same), sending("empty", Change()))) as running:
        await running.gateway.send(message(reply_to="9", media=("/cat.png",)))
        [told] = running.recorded(HookSending)
    assert (told.verdict, told.changed, told.to) == ("kept", (), None)
    [sent] = platform.sent
    assert (sent.reply_to, sent.media) == ("9", ("/cat.png",))


# ---------------------------------------------------------------- another place


@pytest.mark.parametrize("to", [OPS, "channel:500"])
@pytest.mark.parametrize("way", WAYS)
async def test_a_message_that_a_hook_sends_elsewhere_is_remembered_there_only(
    path: Path, platform: Platform, way: str, to: Address | str
) -> None:
    says, seen = Saying(way, "fire"), list[Outgoing]()
    asked = hooks(sending("move", Change(to=to), priority=1), sending("see", seen=seen))
    async with serving(path, platform, agent=says.agent, runner=says.runner, hooks=asked, **says.config) as running:
        await says.begin(running, platform)
        await running.until(IntentSettled)
        assert await running.transcript(OPS_KEY) == [("assistant", "fire")]
        [told] = running.recorded(HookSending)
        [prepared] = running.recorded(IntentPrepared)
        decided = running.recorded(PolicyDecided)
        keys = [created.session_key for created in running.recorded(SessionCreated)]
    assert (told.changed, told.to) == (("to",), OPS)
    assert (prepared.address, prepared.mirror_key) == (OPS, OPS_KEY)
    assert [(sent.address, sent.text) for sent in platform.sent] == [(OPS, "fire")]
    assert [shown.address for shown in seen] == [OPS]
    # Clients may write anywhere; what an agent says has crossed into another conversation.
    assert [one.target for one in decided] == ([] if way == "send" else [OPS])
    # A send creates no session of the place that it never reaches.
    assert (HOME in keys) is (way != "send")


async def test_what_is_quoted_stays_behind_unless_the_hook_names_a_message_there(
    path: Path, platform: Platform
) -> None:
    answers = iter([Change(to=OPS), Change(to=OPS, reply_to="5")])
    async with serving(path, platform, hooks=hooks(sending("move", lambda _: next(answers)))) as running:
        await running.gateway.send(message(key="a", reply_to="9"))
        await running.gateway.send(message(key="b", reply_to="9"))
    assert [sent.reply_to for sent in platform.sent] == [None, "5"]


async def test_a_client_hears_where_its_message_went(path: Path, platform: Platform, slack: Platform) -> None:
    asked = hooks(sending("move", Change(to=ELSEWHERE)))
    async with serving(path, platform, slack, hooks=asked) as running:
        outcome = await running.gateway.send(message(channel="discord"))
        again = await running.gateway.send(message(channel="discord"))
    for one in (outcome, again):
        assert (one.channel, one.session_key) == ("slack", "main:slack:default:channel:c1")
    assert (texts(platform), texts(slack)) == ([], ["hi"])


@pytest.mark.parametrize("required", [False, True])
async def test_the_policy_judges_where_a_hook_sends_an_answer(
    path: Path, platform: Platform, slack: Platform, required: bool
) -> None:
    says = Saying("reply", "secret")
    asked = hooks(sending("move", Change(to=ELSEWHERE, text="moved"), required=required))
    async with serving(path, platform, slack, agent=says.agent, hooks=asked) as running:
        await says.begin(running, platform)
        [settled] = await running.until(IntentSettled)
        [decided] = running.recorded(PolicyDecided)
        [failed] = running.recorded(HookFailed)
    assert (decided.allowed, decided.target, decided.reason) == (False, ELSEWHERE, Reason.CROSS_CONTEXT_DENIED)
    assert (failed.hook, failed.reason) == ("move", Reason.CROSS_CONTEXT_DENIED)
    assert (texts(platform), texts(slack)) == ([] if required else ["secret"], [])
    assert settled.state is (IntentState.CANCELLED if required else IntentState.DELIVERED)


async def test_an_allowed_crossing_shows_its_mark(path: Path, platform: Platform, slack: Platform) -> None:
    says = Saying("reply", "news")
    allowed = {"message": {"cross_context": {"allow_across_providers": True}}}
    asked = hooks(sending("move", Change(to=ELSEWHERE)))
    async with serving(path, platform, slack, agent=says.agent, hooks=asked, tools=allowed) as running:
        await says.begin(running, platform)
        await running.until(IntentSettled)
        [decided] = running.recorded(PolicyDecided)
    [sent] = slack.sent
    assert decided.allowed and decided.mark
    assert sent.text == f"{decided.mark}news{decided.mark_after}"


async def test_the_policy_sees_where_the_turn_works_and_not_where_its_tool_sends(
    path: Path, platform: Platform
) -> None:
    """A tool send that a hook brings home crosses nothing any more."""

    async def tell(turn: Turn) -> None:
        await turn.send("news", OPS)

    asked = hooks(sending("home", Change(to=direct("100"))))
    says = Saying("tool", "")
    says.agent._act = tell  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
    async with serving(path, platform, agent=says.agent, hooks=asked) as running:
        platform.say("m1")
        await running.until(IntentSettled)
        decided = running.recorded(PolicyDecided)
    assert [one.target for one in decided] == [OPS]
    assert [sent.address for sent in platform.sent] == [direct("100")]


# ---------------------------------------------------------------- invalid answers

BAD: list[Any] = [
    pytest.param(Change(media="/a.png"), "expected a tuple of texts as media", id="one file"),  # pyright: ignore[reportArgumentType]
    pytest.param(Change(media=("",)), "expected a tuple of texts as media", id="empty file"),
    pytest.param(Change(media=("\ud83d",)), "expected a tuple of texts as media", id="half a character"),
    pytest.param(Change(reply_to=5), "expected a text or None as reply_to", id="a number"),  # pyright: ignore[reportArgumentType]
    pytest.param(Change(reply_to=""), "expected a text or None as reply_to", id="blank quote"),
    pytest.param(Change(to=5), "bad sends it elsewhere: of type int instead of an Address", id="no place"),  # pyright: ignore[reportArgumentType]
    pytest.param(Change(to=NOBODY), "no adapter serves discord:nobody", id="no adapter"),
    pytest.param(Change(to="ops"), "bad sends it elsewhere: 'ops' on discord", id="no target"),
    pytest.param(Change(to=""), "bad sends it elsewhere: '' on discord: it is empty", id="empty target"),
    pytest.param(Change(to=ELSEWHERE, media=("/a.png",)), "bad changed it: media on slack:default", id="unable"),
]


@pytest.mark.parametrize("required", [False, True])
@pytest.mark.parametrize(("answer", "detail"), BAD)
async def test_a_bad_answer_changes_nothing(
    path: Path, platform: Platform, slack: Platform, answer: object, detail: str, required: bool
) -> None:
    async with serving(path, platform, slack, hooks=hooks(sending("bad", answer, required=required))) as running:
        await running.gateway.send(message(channel="discord", reply_to="9", best_effort=True))
        [failed] = running.recorded(HookFailed)
        [told] = running.recorded(HookSending)
    assert (failed.reason, detail in failed.detail) == (Reason.BAD_HOOK_ANSWER, True), failed.detail
    assert [(sent.address.conversation, sent.reply_to) for sent in platform.sent] == (
        [] if required else [("100", "9")]
    )
    assert slack.sent == []
    assert (told.verdict, told.changed) == ("cancelled" if required else "kept", ())
