"""The gateway's side of the wire: requests arrive after a while, obey the platform's rules, and are answered.

What is recorded here is the truth that invariants compare the gateway's story with. A request that left a process
arrives even when the process has died or stopped waiting (`docs/simulation.md`).
"""

from __future__ import annotations

import asyncio
from typing import Any, Protocol

from core.errors import PlaceGone, PlatformError, RateLimited, Refused
from core.events import Recorder
from core.events.bodies import (
    WireAccepted,
    WireDeduplicated,
    WireLookedUp,
    WireRefused,
    WireResponseLost,
)
from core.values import Address, Capabilities, Idempotency, Receipt, SendRequest
from sim.platforms.rooms import Room, WorldPort


class Site(Protocol):
    """What the wire needs of the platform that it leads to."""

    events: Recorder
    capabilities: Capabilities
    text_limit: int
    misplaces: bool

    def posted_id(self, room: Room, number: int) -> str: ...
    def room_at(self, address: Address) -> Room | None: ...
    def room_above(self, address: Address) -> Room | None: ...
    def note_root(self, room: Room, message_id: str) -> None: ...
    def open_thread(self, place: Address, message_id: str, title: str) -> Room | None: ...
    def open_by_sending(self, place: Address, title: str) -> Room | None: ...
    def latency(self, *what: str) -> float: ...


class Wire:
    """Takes requests for one platform."""

    def __init__(self, platform: Site, world: WorldPort) -> None:
        self._platform = platform
        self._world = world
        self._keys: dict[tuple[str, str], Receipt] = {}
        self._posted = 0

    def receive(self, request: SendRequest, answer: asyncio.Future[Any]) -> None:
        """A send leaves a process: it will arrive, whatever becomes of the process."""
        fault = self._world.send_fault(request.address, request.text, request.attempt)
        kind, extra = fault or ("", 0.0)
        delay = self._platform.latency("send", request.key, str(request.attempt)) + (extra if kind == "slow" else 0.0)
        if kind != "drop":
            self._world.at(self._world.now() + delay, self._arrive, request, answer, kind, extra)

    def _arrive(self, request: SendRequest, answer: asyncio.Future[Any], kind: str, extra: float) -> None:
        try:
            receipt = self._accept(request, kind, extra)
        except PlatformError as error:
            self._platform.events.record(
                WireRefused(
                    address=request.address,
                    reason=error.reason,
                    chunk=request.chunk,
                    attempt=request.attempt,
                    detail=error.facts,
                ),
                request.cause,
                intent=request.intent,
            )
            self._answer(answer, error, request)
            return
        if kind == "lose-response":
            body = WireResponseLost(address=request.address, chunk=request.chunk, attempt=request.attempt)
            self._platform.events.record(body, intent=request.intent, cause=request.cause)
            return
        self._answer(answer, receipt, request)

    def _accept(self, request: SendRequest, kind: str, extra: float) -> Receipt:
        """Obey the platform's rules; returns the receipt of what is visible now, or raises."""
        if kind == "rate-limit":
            raise RateLimited("too many requests", retry_after=extra)
        if kind == "refuse":
            raise Refused("the platform refused it")
        if kind == "error":
            raise PlatformError("the platform had an internal error")
        place = request.address
        room = self._room(place, request.text)
        if len(request.text) > self._platform.text_limit:
            raise Refused(f"longer than {self._platform.text_limit}")
        known = self._keys.get((place.account, request.key))
        if known is not None and self._platform.capabilities.idempotency is Idempotency.KEY:
            body = WireDeduplicated(
                address=known.address,
                provider_id=known.provider_id,
                key=request.key,
                chunk=request.chunk,
                attempt=request.attempt,
            )
            self._platform.events.record(body, intent=request.intent, cause=request.cause)
            return known
        return self._post(request, room)

    def _room(self, place: Address, text: str) -> Room:
        """Where a send will be visible; raises what the platform refuses it with."""
        platform = self._platform
        room = platform.room_at(place) or platform.open_by_sending(place, text)
        if room is None or place.account not in room.accounts:
            raise Refused("no such conversation")
        if room.closed is None:
            return room
        above = platform.room_above(room.address(place.account))
        if platform.misplaces and room.closed == "deleted" and above is not None and above is not room:
            return above
        raise PlaceGone(f"{room.name} is {room.closed}")

    def _post(self, request: SendRequest, room: Room) -> Receipt:
        self._posted += 1
        provider_id = self._platform.posted_id(room, self._posted)
        self._platform.note_root(room, provider_id)
        where = room.address(request.address.account)
        receipt = Receipt(provider_id=provider_id, address=where)
        self._keys[request.address.account, request.key] = receipt
        self._platform.events.record(
            WireAccepted(
                address=where,
                requested=request.address,
                text=request.text,
                provider_id=provider_id,
                key=request.key,
                chunk=request.chunk,
                attempt=request.attempt,
                reply_to=request.reply_to,
                media=request.media,
            ),
            request.cause,
            intent=request.intent,
        )
        return receipt

    def _answer(self, answer: asyncio.Future[Any], what: Receipt | PlatformError, request: SendRequest) -> None:
        when = self._world.now() + self._platform.latency("answer", request.key, str(request.attempt))
        self._world.at(when, _resolve, answer, what)

    def look_up(self, address: Address, key: str, answer: asyncio.Future[Any]) -> None:
        """Whether there is a send with this key."""
        kind, extra = self._world.lookup_fault(address) or ("", 0.0)
        if kind in ("drop", "lose-response"):
            return
        found = self._keys.get((address.account, key))
        self._platform.events.record(WireLookedUp(address=address, key=key, found=found is not None))
        what: Any = PlatformError("the look-up failed") if kind in ("error", "refuse", "rate-limit") else found
        when = self._world.now() + self._platform.latency("lookup", key) * 2 + (extra if kind == "slow" else 0.0)
        self._world.at(when, _resolve, answer, what)

    def open_thread(self, place: Address, message_id: str, title: str, answer: asyncio.Future[Any]) -> None:
        """Open a thread on a message, or find the one that is open."""
        when = self._world.now() + self._platform.latency("thread", message_id)
        self._world.at(when, self._open_thread, place, message_id, title, answer)

    def _open_thread(self, place: Address, message_id: str, title: str, answer: asyncio.Future[Any]) -> None:
        room = self._platform.open_thread(place, message_id, title)
        _resolve(answer, Refused("no thread can be opened there") if room is None else room.address(place.account))


def _resolve(answer: asyncio.Future[Any], what: Any) -> None:
    """Answer a request, unless nobody waits any more."""
    if answer.done():
        return
    if isinstance(what, PlatformError):
        answer.set_exception(what)
    else:
        answer.set_result(what)
