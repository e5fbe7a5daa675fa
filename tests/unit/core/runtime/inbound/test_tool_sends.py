"""The message tool through a real gateway: targets in words, accounts, threads, sessions, and what is refused."""

from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.factories import ACROSS, direct, group, room
from tests.support.sending import Platform, message, places, serving, texts
from tests.support.small_gateway import Echo
from trunkline import Address, Turn
from trunkline.core.errors import AmbiguousTarget, InvalidSend, TargetError, UnknownName, UsageError
from trunkline.core.events.delivery import IntentSettled, MirrorAppended, TargetResolved
from trunkline.core.events.gateway import InboundAdmitted, SessionCreated, ToolRefused
from trunkline.core.reasons import Reason
from trunkline.core.values import IntentState

pytestmark = pytest.mark.anyio

ANA = direct("100")
HALL = room("500")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def platform(anyio_backend: str) -> Iterator[Platform]:
    tiny = Platform()
    yield tiny
    tiny.close()


@pytest.fixture
def telegram(anyio_backend: str) -> Iterator[Platform]:
    tiny = Platform("telegram")
    yield tiny
    tiny.close()


def silent(act: Callable[[Turn], Awaitable[object]]) -> Echo:
    async def turn(turn: Turn) -> None:
        await act(turn)

    return Echo(turn)


async def test_the_tool_sends_to_a_target_of_another_platform(
    path: Path, platform: Platform, telegram: Platform
) -> None:
    agent = silent(lambda turn: turn.send("hi", to="user:42", channel=" Telegram "))
    async with serving(path, platform, telegram, agent=agent, tools=ACROSS) as running:
        platform.say("m1", ANA)
        await running.until(IntentSettled)
        assert await running.transcript("main:telegram:default:direct:42") == [("assistant", "hi")]
        assert await running.transcript("main:discord:default:direct:100") == [("user", "hello")]
        [resolved] = running.recorded(TargetResolved)
    assert (places(telegram), platform.sent) == ([direct("42", channel="telegram")], [])
    assert resolved.session_key == "main:telegram:default:direct:42"


async def test_without_a_platform_a_target_is_one_of_the_turns_own(path: Path, platform: Platform) -> None:
    agent = silent(lambda turn: turn.send("hi", to="channel:500"))
    async with serving(path, platform, agent=agent) as running:
        platform.say("m1", ANA)
        await running.until(IntentSettled)
    assert places(platform) == [HALL]


ACCOUNTS = [
    pytest.param(direct("7", channel="telegram", account="work"), None, "work", id="that of the turn"),
    pytest.param(direct("7", channel="telegram", account="work"), "Default", "default", id="named"),
    pytest.param(ANA, None, "default", id="the default one"),
    pytest.param(ANA, "work", "work", id="named from elsewhere"),
]


@pytest.mark.parametrize(("origin", "named", "sends"), ACCOUNTS)
async def test_the_account_is_the_named_one_or_that_of_the_turn_or_the_default(
    path: Path, platform: Platform, telegram: Platform, origin: Address, named: str | None, sends: str
) -> None:
    work = Platform("telegram", "work")
    agent = silent(lambda turn: turn.send("hi", to="42", channel="telegram", account=named))
    async with serving(path, platform, telegram, work, agent=agent, tools=ACROSS) as running:
        (work if origin.account == "work" else platform).say("m1", origin)
        [settled] = await running.until(IntentSettled)
        assert settled.state is IntentState.DELIVERED
        [mirrored] = running.recorded(MirrorAppended)
    assert [platform.account for platform in (telegram, work) if platform.sent] == [sends]
    assert mirrored.session_key == f"main:telegram:{sends}:direct:42"
    work.close()


TOPIC = group("-1007", thread="7")


@pytest.mark.parametrize(
    ("to", "thread", "goes"),
    [
        ("-1007", None, TOPIC),
        ("telegram:-1007", None, TOPIC),
        ("-1007", "8", group("-1007", thread="8")),
        ("-1007:topic:9", None, group("-1007", thread="9")),
        ("-1008", None, group("-1008")),
        ("42", None, direct("42", channel="telegram")),
    ],
)
async def test_a_topic_is_inherited_within_its_own_chat_only(
    path: Path, telegram: Platform, to: str, thread: str | None, goes: Address
) -> None:
    agent = silent(lambda turn: turn.send("hi", to=to, thread=thread))
    async with serving(path, telegram, agent=agent) as running:
        telegram.say("m1", TOPIC)
        await running.until(IntentSettled)
    assert places(telegram) == [goes]


class Opens(Platform):
    """Notes which thread is opened, and for what."""

    def __init__(self) -> None:
        super().__init__()
        self.opened: list[tuple[Address, str]] = []

    async def open_thread(self, place: Address, message_id: str, title: str) -> Address:
        self.opened.append((place, message_id))
        return place


async def test_a_thread_that_the_agent_names_by_its_id_is_opened_too(path: Path, anyio_backend: str) -> None:
    """A target in words does not name the parent, which opening needs. It is opened once, whatever is said in it."""
    platform, thread = Opens(), room("7001", parent="500")

    async def turn(turn: Turn) -> None:
        for text in ("one", "two"):
            await turn.send(text, to="channel:7001")
        await turn.send("three")

    async with serving(path, platform, agent=Echo(turn), channels={"discord": {"auto_thread": True}}) as running:
        platform.say("7001", HALL)
        await running.until(IntentSettled, 3)
        assert running.recorded(ToolRefused) == []
    platform.close()
    assert platform.opened == [(thread, "7001")]
    assert places(platform) == [thread] * 3


@pytest.mark.parametrize(("to", "thread"), [("channel:C1", "171.2"), ("channel:C2", None), ("user:U1", None)])
async def test_a_thread_of_slack_is_inherited_within_its_own_channel_only(
    path: Path, anyio_backend: str, to: str, thread: str | None
) -> None:
    platform = Platform("slack")
    agent = silent(lambda turn: turn.send("hi", to=to))
    async with serving(path, platform, agent=agent) as running:
        platform.say("m1", room("C1", channel="slack", thread="171.2"))
        await running.until(IntentSettled)
    assert [place.thread for place in places(platform)] == [thread]
    platform.close()


async def test_a_thread_is_not_inherited_from_another_platform(
    path: Path, telegram: Platform, anyio_backend: str
) -> None:
    slack = Platform("slack")
    agent = silent(lambda turn: turn.send("hi", to="channel:C1", channel="slack"))
    async with serving(path, telegram, slack, agent=agent, tools=ACROSS) as running:
        telegram.say("m1", TOPIC)
        await running.until(IntentSettled)
    assert places(slack) == [room("C1", channel="slack")]
    slack.close()


async def test_a_target_that_is_where_the_turn_came_from_is_its_own_session(path: Path, telegram: Platform) -> None:
    agent = silent(lambda turn: turn.send("hi", to="-1007"))
    async with serving(path, telegram, agent=agent) as running:
        telegram.say("m1", TOPIC)
        await running.until(IntentSettled)
        assert await running.transcript("main:telegram:default:group:-1007:topic:7") == [
            ("user", "hello"),
            ("assistant", "hi"),
        ]


async def test_a_target_in_words_is_where_the_turn_came_from_also_after_a_reset(path: Path, platform: Platform) -> None:
    """What a turn says where it came from belongs to the session that it was admitted to (R3, S4)."""
    thread = room("777", parent="500")

    async def reset_and_send(turn: Turn) -> None:
        await running.gateway.reset_session("main", thread)
        await turn.send("hi", to="channel:777")
        read.append([line.text for line in await turn.history()])

    read: list[list[str]] = []
    async with serving(path, platform, agent=silent(reset_and_send)) as running:
        platform.say("m1", thread)
        await running.until(IntentSettled)
        [admitted] = running.recorded(InboundAdmitted)
        [mirrored] = running.recorded(MirrorAppended)
        assert await running.transcript("main:discord:default:channel:777") == []
    assert mirrored.session_id == admitted.session_id
    assert read == [["hello"]]


TOOL_REFUSED: list[Any] = [
    ({"to": "@nobody"}, TargetError, Reason.BAD_TARGET),
    ({"to": "123"}, AmbiguousTarget, Reason.AMBIGUOUS_TARGET),
    ({"to": "user:1", "channel": "slack"}, InvalidSend, Reason.UNKNOWN_CHANNEL),
    ({"to": "user:1", "account": "work"}, UnknownName, Reason.UNKNOWN_ACCOUNT),
    ({"to": "user:1", "thread": "\x00"}, TargetError, Reason.BAD_TARGET),
    ({"to": "user:1", "session": "nonsense"}, InvalidSend, Reason.BAD_SESSION_KEY),
    ({"to": "user:1", "session": "nobody:main"}, InvalidSend, Reason.UNKNOWN_AGENT),
    ({"to": room("500"), "channel": "telegram"}, InvalidSend, Reason.UNKNOWN_CHANNEL),
    ({"thread": "7"}, InvalidSend, Reason.BAD_TARGET),
]


@pytest.mark.parametrize(("fields", "error", "reason"), TOOL_REFUSED)
async def test_the_agent_learns_what_is_wrong_with_a_target(
    path: Path, platform: Platform, fields: dict[str, Any], error: type[UsageError], reason: Reason
) -> None:
    caught: list[UsageError] = []

    async def send(turn: Turn) -> str:
        try:
            await turn.send("hi", **fields)
        except UsageError as wrong:
            caught.append(wrong)
        return "sorry"

    async with serving(path, platform, agent=Echo(send)) as running:
        platform.say("m1", ANA)
        await running.until(IntentSettled)
        [refused] = running.recorded(ToolRefused)
    assert [type(wrong) for wrong in caught] == [error]
    assert (refused.tool, refused.reason, refused.detail) == ("message", reason, caught[0].facts)
    assert texts(platform) == ["sorry"]


async def test_the_tool_can_name_the_session_that_remembers_it(path: Path, platform: Platform) -> None:
    agent = silent(lambda turn: turn.send("hi", to="channel:500", session="Agent:Ops:Main"))
    async with serving(path, platform, agent=agent, agents=[{"id": "main"}, {"id": "ops"}]) as running:
        platform.say("m1", ANA)
        await running.until(IntentSettled)
        assert await running.transcript("ops:main") == [("assistant", "hi")]
        assert await running.transcript("main:discord:default:channel:500") == []
        created = running.recorded(SessionCreated)[-1]
        assert (created.agent, created.address) == ("ops", None)
    assert places(platform) == [HALL]


async def test_the_tool_names_sessions_in_the_form_of_the_profile(path: Path, platform: Platform) -> None:
    agent = silent(lambda turn: turn.send("hi", to="channel:500", session=" Agent:Main:Main "))
    async with serving(path, platform, agent=agent, profile="openclaw") as running:
        platform.say("m1", HALL)
        await running.until(IntentSettled)
        assert await running.transcript("agent:main:main") == [("assistant", "hi")]


async def test_the_agent_can_read_what_its_session_holds(path: Path, platform: Platform) -> None:
    read: list[list[tuple[str, str]]] = []

    async def remember(turn: Turn) -> str:
        read.append([(line.role, line.text) for line in await turn.history()])
        return "noted"

    async with serving(path, platform, agent=Echo(remember)) as running:
        await running.gateway.send(message(text="by the way"))
        platform.say("m1", ANA, "one")
        await running.until(IntentSettled, 2)
        platform.say("m2", ANA, "two")
        await running.until(IntentSettled, 3)
    before = [("assistant", "by the way"), ("user", "one")]
    assert read == [before, [*before, ("assistant", "noted"), ("user", "two")]]
