"""Discord's threads, webhooks and tokens, and Telegram's topics: two different platforms behind one port."""

from collections.abc import Callable, Sequence
from typing import Any

import anyio
import pytest

from trunkline.core.bindings.port import BindsConversations
from trunkline.core.channels.bindings.discord_threads import (
    DiscordChannel,
    DiscordThreads,
    ThreadManagers,
    ThreadSettings,
    Webhook,
    persona,
    raw_id,
)
from trunkline.core.channels.bindings.telegram_topics import TelegramTopics
from trunkline.core.errors import (
    IdentityGone,
    PlaceArchived,
    PlaceGone,
    PlatformError,
    RateLimited,
    Refused,
    Unauthorized,
)
from trunkline.core.records.bindings import PlaceState
from trunkline.core.values import Address, ChatKind, Identity

pytestmark = pytest.mark.anyio


def at(conversation: str, kind: ChatKind = ChatKind.CHANNEL, channel: str = "discord", **more: str) -> Address:
    return Address(channel=channel, account="default", kind=kind, conversation=conversation, **more)


class Rest:
    """Discord, as far as bindings see it."""

    def __init__(self) -> None:
        self.token = "t1"
        self.channels = {"100": DiscordChannel(id="100", name="room")}
        self.webhooks: dict[str, list[Webhook]] = {}
        self.asked: list[tuple[str, str]] = []
        self.failure: PlatformError | None = None

    async def _ask(self, what: str, token: str) -> None:
        self.asked.append((what, token))
        await anyio.lowlevel.checkpoint()
        if token != self.token:
            raise Unauthorized("401")
        if self.failure is not None:
            raise self.failure

    async def create_thread(self, token: str, parent: str, name: str, reason: str) -> str:
        await self._ask("create", token)
        if parent not in self.channels:
            raise PlaceGone(f"10003 {parent}")
        thread = str(200 + len(self.channels))
        self.channels[thread] = DiscordChannel(id=thread, name=name, thread=True, parent=parent)
        return thread

    async def list_threads(self, token: str, parent: str) -> Sequence[DiscordChannel]:
        await self._ask("list", token)
        return [one for one in self.channels.values() if one.parent == parent]

    async def channel(self, token: str, channel: str) -> DiscordChannel:
        await self._ask("channel", token)
        if channel not in self.channels:
            raise PlaceGone(f"10003 {channel}")
        return self.channels[channel]

    async def unarchive(self, token: str, thread: str) -> None:
        await self._ask("unarchive", token)
        self.channels[thread] = DiscordChannel(id=thread, thread=True, parent="100")

    async def create_webhook(self, token: str, channel: str, name: str) -> Webhook:
        await self._ask("webhook", token)
        made = Webhook(id=f"wh{sum(map(len, self.webhooks.values())) + 1}", name=name, secret="s3cret")
        self.webhooks.setdefault(channel, []).append(made)
        return made

    async def list_webhooks(self, token: str, channel: str) -> Sequence[Webhook]:
        await self._ask("webhooks", token)
        return self.webhooks.get(channel, [])

    def count(self, what: str) -> int:
        return sum(name == what for name, _ in self.asked)


def threads_of(rest: Rest, account: str = "default") -> DiscordThreads:
    return DiscordThreads(ThreadManagers(rest).create(account, rest.token))


async def at_once(*calls: Callable[[], Any]) -> list[Any]:
    found: list[Any] = []

    async def one(call: Callable[[], Any]) -> None:
        found.append(await call())

    async with anyio.create_task_group() as group:
        for call in calls:
            group.start_soon(one, call)
    return found


# -------------------------------------------------------------------- tokens


async def test_a_reused_manager_uses_the_newest_token_after_rotation() -> None:
    rest = Rest()
    managers = ThreadManagers(rest)
    first = managers.create("default", "t1", ThreadSettings(idle_timeout=5.0))
    bound = DiscordThreads(first)
    await bound.open_child(at("100"), "work", "m1.hand1")

    rest.token = "t2"
    with pytest.raises(Unauthorized):
        await bound.open_child(at("100"), "work", "m1.hand2")
    again = managers.create("default", " t2 ", ThreadSettings(idle_timeout=9.0))

    # Whoever holds the manager, or anything made of it, has the new token; the settings are those of before.
    assert again is first
    assert again.settings.idle_timeout == 5.0
    await bound.open_child(at("100"), "work", "m1.hand2")
    await bound.identity(at("100"), "worker")
    await bound.inspect(at("100"))
    assert {token for _, token in rest.asked[-5:]} == {"t2"}


@pytest.mark.parametrize("blank", [None, "", "  "])
async def test_a_blank_token_replaces_nothing(blank: str | None) -> None:
    managers = ThreadManagers(Rest())
    assert managers.create("default", "t1").token == "t1"
    assert managers.create("default", blank).token == "t1"


async def test_each_account_has_its_own_manager_and_a_stopped_one_has_no_token() -> None:
    managers = ThreadManagers(Rest())
    first, other = managers.create("default", "t1"), managers.create("work", "t9")
    assert first is not other
    managers.stop("default")
    assert (first.token, managers.get("default"), managers.get("work")) == ("", None, other)
    assert managers.create("default", "t2") is not first


# -------------------------------------------------------------------- threads


async def test_asked_again_with_a_key_it_finds_the_thread_after_a_restart_too() -> None:
    rest = Rest()
    first = await threads_of(rest).open_child(at("100"), "look it up", "m1.hand1")
    assert first == at(first.conversation, parent="100")
    again = await threads_of(rest).open_child(at("100"), "another title", "m1.hand1")
    other = await threads_of(rest).open_child(at("100"), "look it up", "m1.hand2")
    assert again == first != other
    assert rest.count("create") == 2


async def test_two_calls_at_once_with_one_key_open_one_thread() -> None:
    rest = Rest()
    threads = threads_of(rest)
    found = await at_once(*[lambda: threads.open_child(at("100"), "work", "m1.hand1")] * 3)
    assert (len(set(found)), rest.count("create")) == (1, 1)


@pytest.mark.parametrize("asked", [at("channel:100"), at("<#100>"), at("discord:channel:100"), at("CHANNEL: 100")])
async def test_b130_ids_may_carry_a_prefix(asked: Address) -> None:
    assert (await threads_of(Rest()).open_child(asked, "work", "k")).parent == "100"


async def test_asked_from_a_thread_the_child_hangs_under_its_channel() -> None:
    rest = Rest()
    threads = threads_of(rest)
    inside = await threads.open_child(at("100"), "work", "k1")
    for asked in (inside, at(inside.conversation), at(inside.conversation, parent="channel:100")):
        child = await threads.open_child(asked, "work", "k2")
        assert (child.parent, child == inside) == ("100", False)


async def test_a_failure_opens_nothing_and_is_a_platform_error() -> None:
    with pytest.raises(PlaceGone):
        await threads_of(Rest()).open_child(at("999"), "work", "k")


@pytest.mark.parametrize("kind", [ChatKind.DIRECT, ChatKind.GROUP])
async def test_direct_conversations_have_neither_threads_nor_webhooks(kind: ChatKind) -> None:
    rest = Rest()
    with pytest.raises(Refused):
        await threads_of(rest).open_child(at("7", kind), "work", "k")
    assert await threads_of(rest).identity(at("7", kind), "worker") is None
    assert await threads_of(rest).inspect(at("7", kind)) is PlaceState.OPEN
    assert rest.asked == []


async def test_long_titles_are_cut_and_the_mark_stays() -> None:
    rest = Rest()
    made = await threads_of(rest).open_child(at("100"), "\N{ROBOT FACE}" * 90, "k")
    name = rest.channels[made.conversation].name
    assert len(name.encode("utf-16-le")) // 2 <= 100
    assert await threads_of(rest).open_child(at("100"), "", "k") == made


async def test_the_state_of_a_thread_is_read_and_a_missing_one_is_an_error() -> None:
    rest = Rest()
    threads = threads_of(rest)
    rest.channels["300"] = DiscordChannel(id="300", thread=True, parent="100", archived=True)
    states = [await threads.inspect(at(name)) for name in ("100", "300", "404")]
    assert states == [PlaceState.OPEN, PlaceState.ARCHIVED, PlaceState.GONE]
    rest.failure = RateLimited("429", retry_after=1.0)
    with pytest.raises(RateLimited):
        await threads.inspect(at("300"))


async def test_an_archived_thread_is_unarchived_where_that_is_allowed() -> None:
    rest = Rest()
    threads = threads_of(rest)
    rest.channels["300"] = DiscordChannel(id="300", thread=True, parent="100", archived=True)
    rest.channels["301"] = DiscordChannel(id="301", thread=True, parent="100", archived=True, locked=True)
    await threads.reopen(at("300"))
    await threads.reopen(at("300"))
    assert (await threads.inspect(at("300")), rest.count("unarchive")) == (PlaceState.OPEN, 1)
    with pytest.raises(PlaceArchived, match="locked"):
        await threads.reopen(at("301"))
    with pytest.raises(PlaceGone):
        await threads.reopen(at("404"))


# -------------------------------------------------------------------- webhooks


async def test_one_webhook_serves_all_threads_of_a_channel_after_a_restart_too() -> None:
    rest = Rest()
    threads = threads_of(rest)
    inside = await threads.open_child(at("100"), "work", "k")
    found = await at_once(*[lambda: threads.identity(inside, "worker"), lambda: threads.identity(at("100"), "other")])
    restarted = await threads_of(rest).identity(inside, "worker")
    assert restarted is not None
    assert {one.id for one in (*found, restarted)} == {"wh1"}
    assert (restarted, rest.count("webhook")) == (Identity(id="wh1", name="\N{ROBOT FACE} worker"), 1)


async def test_accounts_do_not_share_webhooks_and_those_of_others_are_left_alone() -> None:
    rest = Rest()
    rest.webhooks["100"] = [Webhook(id="theirs", name="Trunkline default")]
    first = await threads_of(rest).identity(at("100"), "a")
    other = await threads_of(rest, "work").identity(at("100"), "a")
    assert first is not None
    assert other is not None
    assert len({first.id, other.id, "theirs"}) == 3


async def test_b134_a_webhook_that_is_gone_is_never_replaced_while_sending() -> None:
    rest = Rest()
    threads = threads_of(rest)
    identity = await threads.identity(at("100"), "worker")
    assert identity is not None
    assert (await threads.webhook_in(at("100"), identity))[0].secret == "s3cret"
    rest.webhooks["100"].clear()
    threads.manager.forget_webhook(identity.id)
    with pytest.raises(IdentityGone):
        await threads.webhook_in(at("100"), identity)
    assert rest.count("webhook") == 1


def test_no_secret_is_shown() -> None:
    assert "s3cret" not in repr(Webhook(id="wh1", secret="s3cret"))


def test_a_persona_is_cut_to_what_discord_takes() -> None:
    assert persona(" worker ") == "\N{ROBOT FACE} worker"
    assert persona("") == "\N{ROBOT FACE} agent"
    assert len(persona("x" * 200).encode("utf-16-le")) // 2 == 80


def test_raw_ids_stay_as_they_are() -> None:
    assert [raw_id(text) for text in ("100", " thread:100 ", "th1", "group:g")] == ["100", "100", "th1", "g"]


# -------------------------------------------------------------------- topics


class Bot:
    """Telegram, as far as bindings see it."""

    def __init__(self) -> None:
        self.topics: dict[int, str] = {}
        self.names: list[str] = []
        self.may_reopen = True

    async def create_forum_topic(self, chat: int, name: str) -> int:
        await anyio.lowlevel.checkpoint()
        if chat != -100:
            raise Refused("the chat is not a forum")
        self.names.append(name)
        self.topics[len(self.topics) + 2] = "open"
        return len(self.topics) + 1

    async def reopen_forum_topic(self, chat: int, topic: int) -> None:
        if topic not in self.topics:
            raise PlaceGone("message thread not found")
        if not self.may_reopen:
            raise Refused("not enough rights")
        self.topics[topic] = "open"

    async def send_typing(self, chat: int, topic: int | None) -> None:
        if topic is not None and topic not in self.topics:
            raise PlaceGone("message thread not found")
        if topic is not None and self.topics[topic] == "closed":
            raise PlaceArchived("TOPIC_CLOSED")


def group(chat: str = "-100", thread: str | None = None) -> Address:
    return Address(channel="telegram", account="default", kind=ChatKind.GROUP, conversation=chat, thread=thread)


def test_both_are_the_same_port() -> None:
    assert isinstance(threads_of(Rest()), BindsConversations)
    assert isinstance(TelegramTopics(Bot()), BindsConversations)


async def test_a_topic_is_opened_once_for_a_key() -> None:
    bot = Bot()
    topics = TelegramTopics(bot)
    found = await at_once(*[lambda: topics.open_child(group(), "x" * 200, "k1")] * 3)
    other = await topics.open_child(group("telegram:-100", "2"), "", "k2")
    assert set(found) == {group(thread="2")}
    assert (other, [len(name) for name in bot.names]) == (group(thread="3"), [128, 4])


async def test_only_groups_that_are_forums_have_topics() -> None:
    topics = TelegramTopics(Bot())
    for place in (group("-200"), at("7", ChatKind.DIRECT, "telegram")):
        with pytest.raises(Refused):
            await topics.open_child(place, "work", "k")
    with pytest.raises(PlaceGone, match="not a number"):
        await topics.open_child(group("somewhere"), "work", "k")


async def test_a_persons_topic_in_the_direct_messages_of_a_channel_is_open_and_has_none_below() -> None:
    topics, place = TelegramTopics(Bot()), group(thread="dm9")
    assert await topics.inspect(place) is PlaceState.OPEN
    with pytest.raises(Refused, match="only groups have topics"):
        await topics.open_child(place, "work", "k")


async def test_topics_are_inspected_and_reopened() -> None:
    bot = Bot()
    topics = TelegramTopics(bot)
    place = await topics.open_child(group(), "work", "k")
    bot.topics[2] = "closed"
    states = [await topics.inspect(one) for one in (group(), place, group(thread="9"))]
    assert states == [PlaceState.OPEN, PlaceState.ARCHIVED, PlaceState.GONE]
    await topics.reopen(place)
    assert await topics.inspect(place) is PlaceState.OPEN
    bot.may_reopen = False
    with pytest.raises(PlaceArchived):
        await topics.reopen(place)
    for gone in (group(), group(thread="9")):
        with pytest.raises(PlaceGone):
            await topics.reopen(gone)
    assert await topics.identity(place, "worker") is None
