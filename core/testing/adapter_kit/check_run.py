"""A check in progress: makes requests, waits for the results, and raises `CheckFailed`."""

import html
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import anyio
import msgspec

from trunkline.core.action_catalogue import Action
from trunkline.core.actions.requests import ActionQuery, ActionRequest
from trunkline.core.channels.adapter import Actions, ChannelAdapter, Queries
from trunkline.core.channels.registry import is_misplaced
from trunkline.core.errors import PlatformError
from trunkline.core.testing.adapter_kit.platform_double import Bench, NotTried, SeenMessage
from trunkline.core.values import Address, Capability, Envelope, Idempotency, IntentId, Markup, Receipt, SendRequest

T = TypeVar("T")
#: the outcome of a call: a value, an error, or `NO_ANSWER`
Outcome = Any


class CheckFailed(Exception):
    """The adapter does not fulfil the check."""


class NoAnswer(msgspec.Struct, frozen=True):
    """A call did not end in time."""

    def __str__(self) -> str:
        return "no answer"


NO_ANSWER = NoAnswer()


def describe(outcome: Outcome) -> str:
    """The outcome of a call as text, for evidence."""
    if isinstance(outcome, Exception):
        return f"{type(outcome).__name__}: {outcome}"
    return f"message {outcome.provider_id!r} at {outcome.address}" if isinstance(outcome, Receipt) else str(outcome)


class Inbox:
    """The messages delivered so far by an open connection."""

    def __init__(self) -> None:
        self.envelopes: list[Envelope] = []
        #: how it ended: an error, or ``"end"``
        self.over: Exception | str | None = None
        self._changed = anyio.Event()

    async def listen(self, stream: AsyncIterator[Envelope]) -> None:
        """Collect messages until the stream ends."""
        try:
            async for envelope in stream:
                self.envelopes.append(envelope)
                self._notify()
            self.over = "end"
        except Exception as error:  # noqa: BLE001 -- kept for the check, which judges it
            self.over = error
        self._notify()

    def _notify(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()

    async def until(self, enough: Callable[[], bool], patience: float) -> bool:
        """Wait for a condition; False if time is over before."""
        with anyio.move_on_after(patience):
            while not enough():
                await self._changed.wait()
        return enough()

    def saying(self, text: str) -> list[Envelope]:
        return [envelope for envelope in self.envelopes if envelope.text == text]


class CheckRun:
    """The tools of a check: a bench, and unique texts and keys for requests."""

    def __init__(self, bench: Bench, check: str, *, run: str, patience: float, settle: float) -> None:
        self.bench = bench
        self.patience = patience
        self._name = f"{check}-{run}" if run else check
        #: seconds to wait for late effects
        self.late = settle
        self._count = 0

    @property
    def adapter(self) -> ChannelAdapter:
        return self.bench.adapter

    def can(self, capability: Capability) -> bool:
        return capability in self.adapter.capabilities.can

    def need_idempotency(self, kind: Idempotency) -> None:
        """Raise `NotTried` if the adapter declares another kind."""
        declared = self.adapter.capabilities.idempotency
        if declared is not kind:
            raise NotTried(f"its idempotency is {declared.value}")

    def request(self, place: Address | None = None, text: str = "", **fields: Any) -> SendRequest:
        """A request with a unique key and a unique text, which ends in `text`."""
        self._count += 1
        mark = f"{self._name}-{self._count}"
        whole = f"{mark} {text}" if text else mark
        first = self.adapter.capabilities.mode.first
        given: dict[str, Any] = {"transport": first, "text": whole, **self._forms(whole), **fields}
        return SendRequest(
            address=place or self.bench.places[0], key=f"{mark}/0", intent=IntentId(mark), chunk=0, attempt=1, **given
        )

    def change(self, action: Action, receipt: Receipt, text: str = "", **fields: Any) -> ActionRequest:
        """A change of the message in a receipt, with a unique key."""
        self._count += 1
        mark = f"{self._name}-{self._count}"
        given: dict[str, Any] = {**self._forms(text), **fields}
        return ActionRequest(
            action=action,
            address=receipt.address,
            key=f"{mark}/0",
            intent=IntentId(mark),
            attempt=1,
            message_id=receipt.provider_id,
            text=text,
            **given,
        )

    async def carry_out(self, request: ActionRequest) -> Receipt:
        """Request a change which must succeed, and check the receipt. `NotTried` for an undeclared action."""
        name = request.action.value
        if request.action not in self.adapter.capabilities.actions:
            raise NotTried(f"it has no {name}")
        outcome = await self.act(request)
        if not isinstance(outcome, Receipt):
            raise CheckFailed(f"{name} was not carried out: {describe(outcome)}")
        if self._is_astray(request.address, outcome.address):
            raise CheckFailed(f"{name} in {request.address}, but the receipt shows {outcome.address}")
        return outcome

    async def act(self, request: ActionRequest) -> Outcome:
        """A receipt, or the error, or `NO_ANSWER`."""
        if not isinstance(self.adapter, Actions):
            raise CheckFailed("it has no `act`")
        return await self.outcome(self.adapter.act(request))

    async def ask(self, action: Action, receipt: Receipt) -> Outcome:
        """An answer about the message in a receipt, or the error, or `NO_ANSWER`."""
        if not isinstance(self.adapter, Queries):
            raise CheckFailed("it has no `ask`")
        query = ActionQuery(action=action, address=receipt.address, message_id=receipt.provider_id)
        return await self.outcome(self.adapter.ask(query))

    def _forms(self, text: str) -> dict[str, str]:
        wants_html = self.adapter.capabilities.markup is Markup.HTML
        return {"html": html.escape(text, quote=False)} if wants_html else {}

    async def send(self, request: SendRequest) -> Outcome:
        """A receipt, or the error, or `NO_ANSWER`."""
        return await self.outcome(self.adapter.send(request))

    async def outcome(self, call: Awaitable[object]) -> Outcome:
        """The outcome of a call within the timeout."""
        with anyio.move_on_after(self.patience):
            try:
                return await call
            except Exception as error:  # noqa: BLE001 -- the check judges it
                return error
        return NO_ANSWER

    async def send_accepted(self, request: SendRequest) -> Receipt:
        """Send a request which must be accepted, and check the receipt."""
        outcome = await self.send(request)
        if not isinstance(outcome, Receipt):
            raise CheckFailed(f"a send to {request.address} was not accepted: {describe(outcome)}")
        if self._is_astray(request.address, outcome.address):
            raise CheckFailed(f"requested {request.address}, but the receipt shows {outcome.address}")
        if self.can(Capability.MESSAGE_IDS) and not outcome.provider_id:
            raise CheckFailed("the receipt names no message, but the adapter declares message ids")
        return outcome

    async def send_refused(self, request: SendRequest, kind: type[PlatformError], why: str) -> PlatformError:
        """Send a request which must fail with a kind of error and stay invisible."""
        outcome = await self.send(request)
        if not isinstance(outcome, kind):
            raise CheckFailed(f"{why}: expected {kind.__name__}, got {describe(outcome)}")
        await self.check_accepted(request, 0)
        return outcome

    async def settle(self) -> None:
        await anyio.sleep(self.late)

    async def find_messages(self, request: SendRequest) -> list[SeenMessage]:
        """The messages of a request, found by key or by the unique beginning of the text."""
        mark = request.intent
        return [
            message
            for message in await self.bench.accepted()
            if message.key == request.key or mark in message.text.split() or message.text.startswith(f"{mark} ")
        ]

    async def check_accepted(self, request: SendRequest, times: int = 1) -> list[SeenMessage]:
        """The messages of a request, which must be `times` many and unchanged."""
        await self.settle()
        found = await self.find_messages(request)
        if len(found) != times:
            places = ", ".join(str(message.address) for message in found) or "nowhere"
            raise CheckFailed(f"expected {times} accepted, found {len(found)}: {places}")
        for message in found:
            self._same(request, message)
        return found

    def _same(self, request: SendRequest, message: SeenMessage) -> None:
        if message.text != request.text:
            raise CheckFailed(f"sent {_short(request.text)}, the platform shows {_short(message.text)}")
        if self._is_astray(request.address, message.address):
            raise CheckFailed(f"asked for {request.address}, the platform shows it at {message.address}")
        if message.key not in (None, request.key):
            raise CheckFailed(f"sent with the key {request.key!r}, the platform has {message.key!r}")
        if message.transport not in (None, request.transport):
            raise CheckFailed(f"asked for the transport {request.transport.value}, it came by {message.transport}")

    def _is_astray(self, asked: Address, found: Address) -> bool:
        """Whether a message is in the wrong place. A direct conversation may have several names."""
        others = {place.lane for place in self.bench.places} - {asked.lane}
        return found.lane in others or is_misplaced(asked, Receipt(provider_id="", address=found))

    async def check_only_message(self, request: SendRequest, receipt: Receipt) -> SeenMessage:
        """The only message of a request, which the receipt must name."""
        [message] = await self.check_accepted(request)
        if message.provider_id is not None and receipt.provider_id not in ("", message.provider_id):
            raise CheckFailed(f"the receipt names message {receipt.provider_id!r}, it is {message.provider_id!r}")
        return message

    @asynccontextmanager
    async def connect(self) -> AsyncGenerator[Inbox, None]:
        """An open connection and the inbox."""
        inbox, wrong = Inbox(), None
        async with self.adapter.connect() as stream, anyio.create_task_group() as group:
            group.start_soon(inbox.listen, stream)
            try:
                yield inbox
            except Exception as error:  # noqa: BLE001 -- raised again below, where no task group wraps it
                wrong = error
            group.cancel_scope.cancel()
        if wrong is not None:
            raise wrong

    async def wait_for(self, inbox: Inbox, text: str) -> Envelope:
        if not await inbox.until(lambda: bool(inbox.saying(text)), self.patience):
            over = "" if inbox.over is None else f"; the connection is over: {describe(inbox.over)}"
            raise CheckFailed(f"a message did not come: {text!r}{over}")
        return inbox.saying(text)[0]


def _short(text: str) -> str:
    return repr(text) if len(text) <= 80 else f"{text[:80]!r}... ({len(text)} characters)"
