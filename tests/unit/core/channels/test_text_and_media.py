"""The base of simple adapters: capabilities, checks, errors, and the whole contract by the adapter kit."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, ClassVar

import anyio
import pytest

from tests.support.for_each import for_each
from trunkline.core.action_catalogue import Action
from trunkline.core.actions.requests import ActionRequest
from trunkline.core.channels import require_action
from trunkline.core.channels.account_adapter import TextAndMediaChannel
from trunkline.core.errors import Ambiguous, IdentityGone, NotSent, PlatformError, RateLimited, Refused, UsageError
from trunkline.core.message_parts import MessageParts
from trunkline.core.testing.adapter_kit import Bench, SeenMessage, check_channel_adapter
from trunkline.core.values import (
    Address,
    Capability,
    ChatKind,
    Envelope,
    Idempotency,
    Identity,
    IntentId,
    Peer,
    Poll,
    Receipt,
    SendRequest,
    Transport,
)


def place(name: str) -> Address:
    return Address(channel="pager", account="default", kind=ChatKind.DIRECT, conversation=name)


THREAD = Address(channel="pager", account="default", kind=ChatKind.GROUP, conversation="crew", thread="7")


def request(**fields: Any) -> SendRequest:
    given: dict[str, Any] = {"address": place("ana"), "text": "hello", "key": "k1/0", **fields}
    return SendRequest(intent=IntentId("i1"), chunk=0, attempt=1, **given)


class Pager(TextAndMediaChannel):
    """A pager service in memory."""

    idempotency = Idempotency.KEY
    text_limit = 100

    def __init__(self) -> None:
        super().__init__("pager")
        self.sent: dict[str, SeenMessage] = {}
        self.requests = 0
        self.error: Exception | None = None
        self.waiting: list[Envelope] = []
        self.changed = anyio.Event()

    async def post_text(self, address: Address, text: str, *, key: str, reply_to: str | None) -> str | None:
        return await self.post_media(address, (), text, key=key, reply_to=reply_to)

    async def post_media(
        self, address: Address, media: tuple[str, ...], caption: str, *, key: str, reply_to: str | None
    ) -> str | None:
        self.requests += 1
        error, self.error = self.error, None
        if error is not None:
            raise error
        if address.conversation == "nobody":
            raise Refused("no such pager")
        seen = SeenMessage(address=address, text=caption, key=key, provider_id=f"p{len(self.sent)}", media=media)
        return self.sent.setdefault(key, seen).provider_id

    async def inbound(self) -> AsyncGenerator[Envelope, None]:
        while True:
            for envelope in list(self.waiting):
                yield envelope
            self.changed = anyio.Event()
            await self.changed.wait()

    async def ack(self, envelope: Envelope) -> None:
        self.waiting = [one for one in self.waiting if one.message_id != envelope.message_id]


class PlainPager(Pager):
    """Takes no files, and gives no ids."""

    message_ids: ClassVar[bool] = False
    post_media = TextAndMediaChannel.post_media

    async def post_text(self, address: Address, text: str, *, key: str, reply_to: str | None) -> str | None:
        return None


class PagerBench(Bench):
    """The bench of the pager."""

    shows = ("media",)
    places = (place("ana"), place("ben"))
    nowhere = (place("nobody"),)

    def __init__(self) -> None:
        self.pager = Pager()
        self.adapter = self.pager
        self._said = 0

    async def accepted(self) -> Sequence[SeenMessage]:
        return list(self.pager.sent.values())

    async def requests(self) -> int:
        return self.pager.requests

    async def refuse_connection(self) -> None:
        self.pager.error = ConnectionRefusedError("nobody listens")

    async def reset_connection(self) -> None:
        self.pager.error = ConnectionResetError("reset")

    async def rate_limit(self, seconds: float) -> None:
        self.pager.error = RateLimited("slowly", retry_after=seconds)

    async def refuse(self) -> None:
        self.pager.error = Refused("no")

    async def say(self, place: Address, text: str) -> None:
        self._said += 1
        envelope = Envelope(
            address=place, peer=Peer(id=place.conversation), message_id=f"m{self._said}", text=text, sent_at=1.0
        )
        self.pager.waiting.append(envelope)
        self.pager.changed.set()


@pytest.mark.anyio
async def test_a_simple_adapter_passes_the_kit() -> None:
    @asynccontextmanager
    async def make() -> AsyncGenerator[Bench, None]:
        yield PagerBench()

    report = await check_channel_adapter(make, patience=0.3, settle=0.01)
    assert report.failures == ()
    passed = {check.id for check in report.checks} - {check.id for check in report.not_tried}
    assert {"send", "media", "not-sent", "reset", "rate-limited", "inbound"} <= passed


def test_what_a_channel_can_do_follows_from_its_methods() -> None:
    assert Pager().capabilities.can == {Capability.TEXT, Capability.MEDIA, Capability.MESSAGE_IDS}
    assert PlainPager().capabilities.can == {Capability.TEXT}
    assert (Pager().capabilities.text_limit, Pager().capabilities.idempotency) == (100, Idempotency.KEY)


@pytest.mark.anyio
@for_each(
    ("fields", "problem"),
    [
        ({"poll": Poll(question="Which?", options=("a", "b"))}, "a poll on pager:default"),
        ({"payload": "{}"}, "a payload on pager:default"),
        ({"parts": MessageParts(gif=True)}, "no buttons, cards and effects"),
        ({"transport": Transport.GATEWAY}, "no gateway transport"),
        ({"address": THREAD}, "a thread on pager:default"),
        ({"text": "x" * 101}, "which takes 100"),
    ],
)
async def test_what_it_cannot_do_is_refused_before_anything_is_sent(fields: dict[str, Any], problem: str) -> None:
    pager = Pager()
    with pytest.raises(Refused, match=problem):
        await pager.send(request(**fields))
    assert pager.requests == 0


@pytest.mark.anyio
async def test_it_never_posts_under_another_identity() -> None:
    with pytest.raises(IdentityGone):
        await Pager().send(request(identity=Identity(id="w1", name="hand")))


@pytest.mark.anyio
async def test_files_need_a_method_for_them() -> None:
    with pytest.raises(Refused, match="media on pager:default"):
        await PlainPager().send(request(media=("a.png",)))
    assert await PlainPager().send(request()) == Receipt(provider_id="", address=place("ana"))


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ConnectionRefusedError(), NotSent),
        (ConnectionResetError(), Ambiguous),
        (TimeoutError(), Ambiguous),
        (KeyError("id"), Ambiguous),
        (RateLimited("slowly", retry_after=3.0), RateLimited),
    ],
)
async def test_an_error_becomes_one_of_the_contract(error: Exception, kind: type[PlatformError]) -> None:
    pager = Pager()
    pager.error = error
    with pytest.raises(kind):
        await pager.send(request())


@pytest.mark.anyio
async def test_a_stream_that_is_no_generator_is_taken_too() -> None:
    class Once(Pager):
        def inbound(self) -> Any:
            class Empty:
                def __aiter__(self) -> AsyncIterator[Envelope]:
                    return self  # type: ignore[return-value]

                async def __anext__(self) -> Envelope:
                    raise StopAsyncIteration

            return Empty()

    async with Once().connect() as stream:
        assert [envelope async for envelope in stream] == []


async def test_a_simple_channel_lists_the_changes_that_it_carries_out(anyio_backend: str) -> None:
    class Editing(Pager):
        actions = frozenset({Action.EDIT})

        async def act(self, request: ActionRequest) -> Receipt:
            return Receipt(provider_id=request.message_id or "", address=request.address)

    assert Pager().capabilities.actions == frozenset()
    require_action(Editing(), Editing().capabilities, Action.EDIT, "pager:default")
    with pytest.raises(UsageError):
        require_action(Pager(), Pager().capabilities, Action.EDIT, "pager:default")
