"""What an answer asks for beside its text, through a real gateway, and what of it is for nobody."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.callbacks import Caller, HeldClerk
from tests.support.sending import Platform, Tried, serving
from tests.support.small_gateway import ANA, KEY, Echo
from trunkline import Turn
from trunkline.core.decisions import Decisions
from trunkline.core.events.delivery import IntentSettled, IntentSuppressed
from trunkline.core.events.gateway import TurnEnded
from trunkline.core.reasons import Reason
from trunkline.core.text.model_text import ModelText
from trunkline.core.values import Capability

pytestmark = pytest.mark.anyio
TEXTS = frozenset({Capability.TEXT, Capability.MESSAGE_IDS})


def answering(text: str) -> Echo:
    async def turn(_turn: Turn) -> str:
        return text

    return Echo(turn)


@pytest.fixture
def platform(anyio_backend: str) -> Iterator[Platform]:
    platform = Tried(can=TEXTS | {Capability.MEDIA})
    yield platform
    platform.close()


@pytest.mark.parametrize(
    ("answer", "said", "media", "quotes"),
    [
        ("<think>secret</think>hello", "hello", (), None),
        ("hello\n\nMEDIA:https://example.org/a.png", "hello", ("https://example.org/a.png",), None),
        ("MEDIA:/srv/a.png", "", ("/srv/a.png",), None),
        ("[[reply_to_current]] hello", "hello", (), "m1"),
        ("[[reply_to: 77]] hello", "hello", (), "77"),
        ("`MEDIA:` and `<think>` are words", "`MEDIA:` and `<think>` are words", (), None),
    ],
)
async def test_an_answer_is_read_like_a_text_of_the_message_tool(
    path: Path, platform: Platform, answer: str, said: str, media: tuple[str, ...], quotes: str | None
) -> None:
    async with serving(path, platform, agent=answering(answer)) as running:
        platform.say("m1", ANA)
        await running.until(IntentSettled)
        [sent] = platform.sent
        assert (sent.text, sent.media, sent.reply_to) == (said, media, quotes)
        remembered = await running.transcript(KEY)
        assert "secret" not in str(remembered)


async def test_an_answer_that_is_all_reasoning_is_no_answer(path: Path, platform: Platform) -> None:
    async with serving(path, platform, agent=answering("<think>nothing to add")) as running:
        platform.say("m1", ANA)
        [suppressed] = await running.until(IntentSuppressed)
    assert (suppressed.reason, suppressed.text, platform.sent) == (Reason.NO_REPLY, "", [])


async def test_where_no_files_can_be_sent_people_get_the_addresses_and_no_paths(path: Path) -> None:
    plain = Tried(can=TEXTS)
    answer = "see\nMEDIA:https://example.org/a.png\nMEDIA:/srv/b.png"
    async with serving(path, plain, agent=answering(answer)) as running:
        plain.say("m1", ANA)
        await running.until(IntentSettled)
    plain.close()
    assert [(sent.text, sent.media) for sent in plain.sent] == [("see\nhttps://example.org/a.png", ())]


async def test_typed_sends_are_read_alike(path: Path, platform: Platform) -> None:
    async def turn(turn: Turn) -> None:
        await turn.send("<think>secret</think>[[reply_to_current]] hello\nMEDIA:/srv/a.png", media=("/srv/b.png",))

    async with serving(path, platform, agent=Echo(turn)) as running:
        platform.say("m1", ANA)
        await running.until(IntentSettled)
    [sent] = platform.sent
    assert (sent.text, sent.media, sent.reply_to) == ("hello", ("/srv/b.png", "/srv/a.png"), "m1")


async def test_a_posted_result_is_read_alike(path: Path, platform: Platform) -> None:
    clerk = HeldClerk("<think>secret</think>forty mails\nMEDIA:/srv/a.png", held=False)
    async with serving(path, platform, agent=Caller(), runner=clerk, hands={"announce": "direct"}) as running:
        platform.say("m1", ANA, text="count mails")
        await running.until(IntentSettled, 2)
    assert ("forty mails", ("/srv/a.png",)) in [(sent.text, sent.media) for sent in platform.sent]


@pytest.mark.parametrize("read", [lambda text, _by: text, lambda _text, _by: 1 / 0], ids=["no answer", "raises"])
async def test_a_decision_that_reads_answers_wrongly_ends_the_turn(path: Path, platform: Platform, read: Any) -> None:
    async with serving(path, platform, agent=answering("hi"), decisions=Decisions(read_answer=read)) as running:
        platform.say("m1", ANA)
        [ended] = await running.until(TurnEnded)
    assert (ended.outcome, ended.reason) == ("failed", Reason.BAD_ANSWER)


def test_a_result_keeps_its_files_as_lines() -> None:
    answer = ModelText(text="drawn", media=("/srv/a.png",))
    assert answer.as_result == "drawn\nMEDIA:/srv/a.png"
