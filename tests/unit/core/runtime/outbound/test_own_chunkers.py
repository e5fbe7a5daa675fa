"""Chunkers that adapters and channel rules bring along: used, checked, and replaced where they fail."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.sending import Platform, message, serving, texts
from trunkline import Capabilities, ChannelRules, Idempotency, Markup, registered_channel
from trunkline.core.channels import rules_for
from trunkline.core.events.delivery import ChunkerFailed, IntentPrepared
from trunkline.core.reasons import Reason
from trunkline.core.text.chunking.own_chunker import OwnChunker, own_chunker

pytestmark = pytest.mark.anyio

TEXT = "One. Two. Three."


def sentences(text: str, limit: int) -> Sequence[str]:
    return [f"{one.strip()}." for one in text.split(".") if one.strip()]


class Splitting(Platform):
    """A platform with a chunker of its own."""

    def __init__(self, call: Callable[[str, int], Any] = sentences, channel: str = "discord", **can: Any) -> None:
        super().__init__(channel)
        self.capabilities = Capabilities(**{"idempotency": Idempotency.KEY, "text_limit": 10, **can})
        self.asked: list[tuple[str, int]] = []
        self._call = call

    def split_text(self, text: str, limit: int) -> Sequence[str]:
        self.asked.append((text, limit))
        return self._call(text, limit)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def made(anyio_backend: str) -> Iterator[Callable[..., Splitting]]:
    tiny: list[Splitting] = []

    def make(*args: Any, **can: Any) -> Splitting:
        tiny.append(Splitting(*args, **can))
        return tiny[-1]

    yield make
    for one in tiny:
        one.close()


async def test_the_chunks_are_those_of_the_adapter(path: Path, made: Callable[..., Splitting]) -> None:
    platform = made()
    async with serving(path, platform) as running:
        await running.gateway.send(message(text=TEXT))
        [prepared] = running.recorded(IntentPrepared)
        assert running.recorded(ChunkerFailed) == []
        assert await running.transcript("main:discord:default:direct:100") == [("assistant", "One.\nTwo.\nThree.")]
    assert texts(platform) == ["One.", "Two.", "Three."]
    assert (platform.asked, prepared.chunks) == ([(TEXT, 10)], 3)


async def test_it_gets_texts_that_would_fit_and_paragraphs_one_by_one(
    path: Path, made: Callable[..., Splitting]
) -> None:
    platform = made()
    channels = {"discord": {"chunk_mode": "newline", "text_limit": 500}}
    async with serving(path, platform, channels=channels) as running:
        await running.gateway.send(message(text="One. Two.\n\nThree."))
    assert platform.asked == [("One. Two.", 500), ("Three.", 500)]
    assert texts(platform) == ["One.", "Two.", "Three."]


async def test_a_text_with_nothing_visible_is_not_split(path: Path, made: Callable[..., Splitting]) -> None:
    platform = made()
    async with serving(path, platform) as running:
        await running.gateway.send(message(text=" \n", media=("/a.png",)))
    assert platform.asked == []


@pytest.mark.parametrize(("markup", "shown"), [(Markup.HTML, "**b** x."), (Markup.STYLED, "b x.")])
async def test_its_chunks_are_rendered_afterwards(
    path: Path, made: Callable[..., Splitting], markup: Markup, shown: str
) -> None:
    platform = made(markup=markup)
    async with serving(path, platform) as running:
        await running.gateway.send(message(text="**b** x. Two."))
    assert texts(platform) == [shown, "Two."]
    assert platform.asked == [("**b** x. Two.", 10)]


def raises(text: str, limit: int) -> list[str]:
    raise ValueError("no idea")


def exits(text: str, limit: int) -> list[str]:
    raise SystemExit(3)


BAD: list[Any] = [
    pytest.param(raises, "ValueError: no idea", id="raises"),
    pytest.param(exits, "SystemExit: 3", id="exits"),
    pytest.param(lambda text, limit: None, "of type NoneType instead of a list", id="none"),
    pytest.param(lambda text, limit: text, "of type str instead of a list", id="a text"),
    pytest.param(lambda text, limit: iter([text]), "instead of a list", id="an iterator"),
    pytest.param(lambda text, limit: [], "no chunk of a text of 16 code units", id="nothing"),
    pytest.param(lambda text, limit: ["One.", ""], "chunk 2 has nothing visible", id="empty"),
    pytest.param(lambda text, limit: [" \u200b"], "chunk 1 has nothing visible", id="blank"),
    pytest.param(lambda text, limit: ["One.", 2], "chunk 2 is of type int", id="a number"),
    pytest.param(lambda text, limit: ["\ud83d"], "chunk 1 has half a character", id="half a character"),
    pytest.param(lambda text, limit: ["x" * 11], "chunk 1 has 11 code units, and the limit is 10", id="too long"),
    pytest.param(lambda text, limit: ["😀" * 6], "chunk 1 has 12 code units", id="code units"),
]


@pytest.mark.parametrize(("call", "detail"), BAD)
async def test_where_it_fails_the_built_in_chunker_is_used(
    path: Path, made: Callable[..., Splitting], call: Callable[[str, int], Any], detail: str
) -> None:
    platform = made(call)
    async with serving(path, platform) as running:
        await running.gateway.send(message(text=TEXT))
        events = [event for event in running.log.events if isinstance(event.body, ChunkerFailed)]
    [event] = events
    assert isinstance(event.body, ChunkerFailed)
    assert (event.body.channel, event.body.account, event.intent) == ("discord", "default", "send:k")
    assert (event.body.reason, detail in event.body.detail) == (Reason.CHUNKER_FAILED, True), event.body.detail
    assert texts(platform) == ["One. Two.", "Three."]


async def test_the_rules_of_a_channel_may_have_one_and_the_adapter_comes_first(
    path: Path, made: Callable[..., Splitting], anyio_backend: str
) -> None:
    class Radio(ChannelRules):
        channel = "radio"

        def split_text(self, text: str, limit: int) -> Sequence[str]:
            return text.split()

    with registered_channel(Radio()):
        plain = Platform("radio")
        async with serving(path, plain) as running:
            await running.gateway.send(message(channel="radio", text=TEXT))
        plain.close()
        own = made(sentences, "radio")
        async with serving(path, own) as running:
            await running.gateway.send(message(channel="radio", text=TEXT, key="k2"))
    assert texts(plain) == ["One.", "Two.", "Three."]
    assert [asked for asked, _ in own.asked] == [TEXT]


def test_shipped_rules_and_plain_adapters_have_none(made: Callable[..., Splitting]) -> None:
    plain = Platform()
    assert own_chunker(plain, rules_for("discord")) is None
    assert own_chunker(None, rules_for("telegram")) is None
    plain.close()
    assert isinstance(made(), OwnChunker)
    # Capabilities stay values that can be compared and stored.
    assert made().capabilities == Capabilities(idempotency=Idempotency.KEY, text_limit=10)
