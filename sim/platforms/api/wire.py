"""The wire between gateway and platform: requests arrive with latency, are checked by the platform, and answered.

The events recorded here are the ground truth for invariants. A request that left a process arrives even if the process
has died or stopped waiting (`docs/simulation.md`).
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec

from trunkline.core.actions.requests import ActionRequest
from trunkline.core.declared import filled
from trunkline.core.errors import Ambiguous, NotSent, PlatformError, Refused, Unauthorized
from trunkline.core.values import Address, Capabilities, Capability, Idempotency, Receipt, SendRequest, Transport
from trunkline.sim.events.wire import WireAccepted, WireDeduplicated, WireLookedUp, WireRefused, WireResponseLost
from trunkline.sim.platforms.actions.message_board import PostedMessage
from trunkline.sim.platforms.api.api_calls import ApiHost
from trunkline.sim.platforms.api.request_checks import check_request
from trunkline.sim.platforms.api.wire_faults import BEFORE, HALF, LOST, raise_refusal, struck
from trunkline.sim.platforms.rooms import Room, WorldPort, resolve


class WireRequests:
    """The common part of sends and actions: refused requests, and lost responses."""

    def __init__(self, platform: ApiHost, world: WorldPort) -> None:
        self._platform = platform
        self._world = world
        #: number of requests so far
        self.requests = 0

    def record_refusal(self, request: SendRequest | ActionRequest, token: int, error: PlatformError) -> None:
        body = filled(
            WireRefused,
            request,
            error,
            detail=error.facts,
            credential=self._platform.tokens.recorded(request.address.account, token),
            action=request.action if isinstance(request, ActionRequest) else None,
        )
        self._platform.events.record(body, request.cause, intent=request.intent)

    def _lose_response(
        self, request: SendRequest | ActionRequest, kind: str, response: object, respond: Callable[[object], None]
    ) -> None:
        """Record a lost response, and break the connection if the fault does. `response`: what is left of it."""
        action = request.action if isinstance(request, ActionRequest) else None
        body = WireResponseLost(address=request.address, chunk=request.chunk, attempt=request.attempt, action=action)
        self._platform.events.record(body, intent=request.intent, cause=request.cause)
        if kind == "reset":
            respond(Ambiguous("the connection was reset"))
        elif kind == HALF:
            respond(response)


class Wire(WireRequests):
    def __init__(self, platform: ApiHost, world: WorldPort) -> None:
        super().__init__(platform, world)
        #: (account, key) -> receipt and time of acceptance
        self._keys: dict[tuple[str, str], tuple[Receipt, float]] = {}
        #: (conversation, key) -> number of messages posted under it
        self._posted: Counter[tuple[str, str]] = Counter()

    def receive(self, request: SendRequest, answer: asyncio.Future[Any], token: int) -> None:
        """Receive a send from a process; it arrives whatever happens to the process."""
        self.requests += 1
        channel, account = request.address.channel, request.address.account
        # The gateway transport uses the account's connection, which may be down.
        if request.transport is Transport.GATEWAY and self._world.account_fault("connect", channel, account):
            self._answer(answer, NotSent("there is no connection"), request)
            return
        fault = self._world.send_fault(request.address, request.text, request.attempt, request.transport)
        kind, extra = fault or ("", 0.0)
        if kind in BEFORE:
            error = BEFORE[kind]()
            if error is not None:
                self._answer(answer, error, request)
            return
        delay = self._platform.latency("send", request.key, str(request.attempt)) + (extra if kind == "slow" else 0.0)
        self._world.call_at(self._world.now() + delay, self._arrive, request, answer, kind, extra, token)

    def _arrive(self, request: SendRequest, answer: asyncio.Future[Any], kind: str, extra: float, token: int) -> None:
        try:
            receipt = self._accept(request, kind, extra, token)
        except PlatformError as error:
            self.record_refusal(request, token, error)
            self._answer(answer, error, request)
            return
        self._respond(request, answer, receipt, kind, extra)

    def _respond(
        self, request: SendRequest, answer: asyncio.Future[Any], receipt: Receipt, kind: str, extra: float = 0.0
    ) -> None:
        if kind in LOST:
            left = struck(kind, extra, receipt)
            self._lose_response(request, kind, left, lambda what: self._answer(answer, what, request))
            return
        if kind == "no-receipt" or Capability.MESSAGE_IDS not in self._can(request).can:
            receipt = msgspec.structs.replace(receipt, provider_id="")
        if kind == "bad-receipt":
            receipt = msgspec.structs.replace(receipt, provider_id="\ud83d")
        self._answer(answer, struck(kind, extra, receipt), request)

    def _can(self, request: SendRequest) -> Capabilities:
        return self._platform.capabilities[request.address.account]

    def _accept(self, request: SendRequest, kind: str, extra: float, token: int) -> Receipt:
        """Apply the platform's rules. Returns the receipt of the visible message; raises `PlatformError`."""
        raise_refusal(kind, extra)
        place, can = request.address, self._can(request)
        self._platform.tokens.check(place.account, token)
        room = self._room(place, request.text)
        if request.identity is not None:
            self._platform.webhooks.check(request.identity, place)
        if len(self._platform.visible(request)) > self._platform.text_limit:
            raise Refused(f"longer than {self._platform.text_limit}")
        check_request(request, can, self._platform.rules.effects)
        self._platform.part_limits.check(request)
        known = None if request.identity is not None else self._known(place.account, request.key, can)
        return self._post(request, room, token) if known is None else self._record_repeat(request, known)

    def _record_repeat(self, request: SendRequest, known: Receipt) -> Receipt:
        body = filled(WireDeduplicated, request, address=known.address, provider_id=known.provider_id)
        self._platform.events.record(body, intent=request.intent, cause=request.cause)
        return known

    def _known(self, account: str, key: str, can: Capabilities) -> Receipt | None:
        """The receipt of an earlier send with a key, if the platform has keys and still remembers this one."""
        if can.idempotency is not Idempotency.KEY or (account, key) not in self._keys:
            return None
        receipt, at = self._keys[account, key]
        return receipt if can.key_seconds is None or self._world.now() - at <= can.key_seconds else None

    def _room(self, place: Address, text: str) -> Room:
        """The room where a send becomes visible; raises `Refused` and its subclasses."""
        platform = self._platform
        room = platform.room_at(place) or platform.threads.by_sending(place, text)
        if room is not None and platform.misplaces and room.closed == "deleted" and place.account in room.accounts:
            above = platform.room_above(room.address(place.account))
            if above is not None and above is not room:
                return above
        return platform.open_room(place if room is None else room.address(place.account))

    def _post(self, request: SendRequest, room: Room, token: int) -> Receipt:
        self._posted[room.conversation, request.key] += 1
        times = self._posted[room.conversation, request.key]
        provider_id = self._platform.posted_id(room, request.key, str(times))
        self._platform.threads.note_root(room, provider_id)
        where = room.address(request.address.account)
        poll = request.poll
        poll_id = None if poll is None else self._platform.poll_id(provider_id, room)
        receipt = Receipt(provider_id=provider_id, address=where, poll_id=poll_id)
        if request.identity is None:
            # Messages of webhooks have no key: the platform recognises no repeat, and cannot look them up.
            self._keys[request.address.account, request.key] = (receipt, self._world.now())
        self._platform.board.add(
            PostedMessage(
                room=room,
                id=provider_id,
                author=self._platform.bot_id(request.address.account),
                account=request.address.account,
                text=request.text,
                at=self._world.now(),
                request=request,
                receipt=receipt,
            )
        )
        accepted = self._platform.events.record(
            filled(
                WireAccepted,
                request,
                address=where,
                requested=request.address,
                provider_id=provider_id,
                poll=() if poll is None else (poll.question, *poll.options),
                poll_id=poll_id,
                identity=None if request.identity is None else str(request.identity),
                credential=self._platform.tokens.recorded(request.address.account, token),
                recipient=request.recipient if self._platform.shows_names else None,
            ),
            request.cause,
            intent=request.intent,
        )
        if request.identity is not None:
            self._platform.people.echo(request, room, provider_id, accepted)
        return receipt

    def _answer(self, answer: asyncio.Future[Any], what: object, request: SendRequest) -> None:
        when = self._world.now() + self._platform.latency("answer", request.key, str(request.attempt))
        self._world.call_at(when, resolve, answer, what)

    def look_up(self, address: Address, key: str, answer: asyncio.Future[Any], token: int) -> None:
        kind, extra = self._world.lookup_fault(address) or ("", 0.0)
        if kind in ("drop", "lose-response"):
            return
        if token < self._platform.tokens.newest(address.account):
            when = self._world.now() + self._platform.latency("lookup", key) * 2
            self._world.call_at(when, resolve, answer, Unauthorized(f"token {token} was replaced"))
            return
        found, _ = self._keys.get((address.account, key), (None, 0.0))
        self._platform.events.record(WireLookedUp(address=address, key=key, found=found is not None))
        what: Any = PlatformError("the look-up failed") if kind in ("error", "refuse", "rate-limit") else found
        when = self._world.now() + self._platform.latency("lookup", key) * 2 + (extra if kind == "slow" else 0.0)
        self._world.call_at(when, resolve, answer, what)

    def open_thread(self, place: Address, message_id: str, title: str, token: int) -> asyncio.Future[Any]:

        def open_it() -> Address:
            platform = self._platform
            room = platform.threads.on_message(place, message_id, title) if platform.opens_threads else None
            if room is None:
                raise Refused("no thread can be opened there")
            return room.address(place.account)

        what = ("thread", message_id)
        return self._platform.calls.call(what, place, token, open_it, opens=True, there_and_back=False)
