"""Noteworthy things in a state folder of OpenClaw, and what a restart would do. Pure.

The rules are those of OpenClaw 2026.9.6, as its recovery at startup applies them (`delivery-queue-recovery`,
`main-session-restart-recovery`); those of retries are the same since 2026-02.
"""

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum

import msgspec

from trunkline.app.imports.openclaw import values
from trunkline.app.imports.openclaw.session_entries import identity

#: seconds before the next attempt, by the number of attempts that failed
BACKOFF = (0.0, 5.0, 25.0, 120.0, 600.0)
#: how far an attempt had come when nobody knows whether the platform has it
IN_DOUBT = frozenset({"send_attempt_started", "unknown_after_send"})
#: platforms whose plugin looks up whether a message was accepted
RECONCILES = frozenset({"slack", "matrix"})
#: sessions of work inside the gateway: they speak where their requester speaks
_INNER = ("subagent", "acp", "cron", "hook", "node", "run")


class Split(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation under several session keys: each session remembers a part of it."""

    agent: str
    sessions: tuple[values.ForeignSession, ...]
    place: values.ForeignPlace | None = None


class Merger(msgspec.Struct, frozen=True, kw_only=True):
    """A session that several conversations share: a message in one is known in the others."""

    agent: str
    keys: tuple[str, ...]
    places: tuple[values.ForeignPlace, ...]
    #: the key is meant to be shared: ``agent:main:main``
    by_setting: bool = False


class After(StrEnum):
    """The outcome of a restart for an entry of the queue."""

    SENT = "is sent"
    ASKED = "is looked up on the platform, and sent if it is not there"
    REFUSED = "is not sent again, and closed as failed"
    GIVEN_UP = "is given up: it has no attempts left"
    FINISHED = "was sent; only the books are closed"
    KEPT = "stays as it is"


class Prospect(msgspec.Struct, frozen=True, kw_only=True):
    """An entry, what a restart does with it, and not before when (seconds since 1970; None: at once)."""

    entry: values.QueuedDelivery
    after: After
    not_before: float | None = None


class OpenClawFindings(msgspec.Struct, frozen=True, kw_only=True):
    splits: tuple[Split, ...] = ()
    mergers: tuple[Merger, ...] = ()
    doubts: tuple[values.QueuedDelivery, ...] = ()
    dead: tuple[values.QueuedDelivery, ...] = ()
    prospects: tuple[Prospect, ...] = ()
    #: turns that a restart interrupted: it runs them again
    resumed: tuple[values.ForeignSession, ...] = ()
    #: answers that may not have arrived
    owed: tuple[values.ForeignSession, ...] = ()
    #: answers that nothing will send
    stranded: tuple[values.ForeignSession, ...] = ()
    waiting: tuple[values.WaitingMessage, ...] = ()


def find(state: values.OpenClawState) -> OpenClawFindings:
    """Everything noteworthy of a state folder."""
    open_sessions = tuple(session for session in state.sessions if not session.archived)
    # Id of a delivery -> the session whose answer it is.
    known = {name: session for session in state.sessions if session.owed for name, _ in session.owed.deliveries}
    pending = [entry for entry in state.queue if entry.status is values.QueueStatus.PENDING]
    return OpenClawFindings(
        splits=(*_splits(open_sessions), *_spellings(open_sessions)),
        mergers=(*_mergers(open_sessions), *_shared_ids(open_sessions)),
        doubts=tuple(entry for entry in pending if entry.recovery in IN_DOUBT),
        dead=tuple(_filled(entry, known) for entry in state.queue if entry.status is values.QueueStatus.FAILED),
        prospects=tuple(prospect(entry) for entry in pending),
        resumed=tuple(session for session in open_sessions if session.interrupted),
        owed=tuple(session for session in open_sessions if session.owed is not None and not _settled(session)),
        stranded=tuple(session for session in open_sessions if session.stranded),
        waiting=tuple(entry for entry in state.waiting if entry.status != "failed"),
    )


def _filled(entry: values.QueuedDelivery, known: Mapping[str, values.ForeignSession]) -> values.QueuedDelivery:
    """An entry with what its session still knows: newer versions keep neither text nor place of what has failed."""
    session = known.get(entry.id)
    if session is None or session.owed is None or entry.texts or entry.place is not None:
        return entry
    texts = (session.owed.text,) if session.owed.text else ()
    return msgspec.structs.replace(entry, texts=texts, place=session.owed.place, session_key=session.key)


def _settled(session: values.ForeignSession) -> bool:
    assert session.owed is not None
    states = [state for _, state in session.owed.deliveries]
    return bool(states) and all(state in ("delivered", "suppressed") for state in states)


def prospect(entry: values.QueuedDelivery) -> Prospect:
    """The outcome of a restart for a pending entry."""
    if entry.recovery in ("settlement_pending", "acknowledged"):
        return Prospect(entry=entry, after=After.FINISHED)
    if entry.recovery in IN_DOUBT:
        # Whether its process is dead is known when its claim has ended.
        asks = entry.place is not None and entry.place.channel.casefold() in RECONCILES
        return Prospect(entry=entry, after=After.ASKED if asks else After.REFUSED, not_before=entry.available)
    if entry.attempts >= entry.max_attempts:
        return Prospect(entry=entry, after=After.GIVEN_UP)
    if entry.place is None and not entry.session_key:
        return Prospect(entry=entry, after=After.KEPT)
    return Prospect(entry=entry, after=After.SENT, not_before=_not_before(entry))


def _not_before(entry: values.QueuedDelivery) -> float | None:
    """An entry that was never tried is sent at once; one that failed waits, counted from its last attempt."""
    if entry.attempts == 0 and entry.last_attempt is None:
        return entry.available
    since = entry.last_attempt if entry.last_attempt is not None else entry.enqueued
    if since is None:
        return entry.available
    return max(since + BACKOFF[min(entry.attempts + 1, len(BACKOFF) - 1)], entry.available or 0.0)


def is_inner(key: str) -> bool:
    """Whether a key is that of work inside the gateway."""
    rest = _rest(key)
    return rest.split(":")[0] in _INNER or any(f":{word}:" in f":{rest}" for word in ("subagent", "cron", "acp"))


def _rest(key: str) -> str:
    parts = [part for part in key.casefold().split(":") if part]
    return ":".join(parts[2:]) if parts[:1] == ["agent"] and len(parts) > 2 else ":".join(parts)


def canonical(key: str) -> str:
    """A key as newer versions spell it: folded, without empty parts, ``direct`` for ``dm``."""
    return ":".join("direct" if part == "dm" else part for part in key.casefold().split(":") if part)


def _splits(sessions: Iterable[values.ForeignSession]) -> Iterator[Split]:
    found: dict[tuple[str, tuple[str, str, str]], list[tuple[values.ForeignSession, values.ForeignPlace]]] = {}
    for session in sessions:
        if is_inner(session.key):
            continue
        for place in session.places:
            found.setdefault((session.agent, identity(place)), []).append((session, place))
    for (agent, _), entries in found.items():
        if len({canonical(session.key) for session, _ in entries}) > 1:
            yield Split(agent=agent, place=entries[0][1], sessions=tuple(session for session, _ in entries))


def _spellings(sessions: Iterable[values.ForeignSession]) -> Iterator[Split]:
    found: dict[str, list[values.ForeignSession]] = {}
    for session in sessions:
        found.setdefault(canonical(session.key), []).append(session)
    for entries in found.values():
        if len({entry.key for entry in entries}) > 1:
            yield Split(agent=entries[0].agent, sessions=tuple(entries))


def _mergers(sessions: Iterable[values.ForeignSession]) -> Iterator[Merger]:
    for session in sessions:
        if len(session.places) > 1 and not is_inner(session.key):
            shared = ":" not in _rest(session.key) or _rest(session.key) in ("main", "global")
            yield Merger(agent=session.agent, keys=(session.key,), places=session.places, by_setting=shared)


def _shared_ids(sessions: Iterable[values.ForeignSession]) -> Iterator[Merger]:
    found: dict[tuple[str, str], list[values.ForeignSession]] = {}
    for session in sessions:
        if session.session:
            found.setdefault((session.agent, session.session), []).append(session)
    for (agent, _), entries in found.items():
        if len({canonical(entry.key) for entry in entries}) > 1:
            places = tuple({identity(place): place for entry in entries for place in entry.places}.values())
            yield Merger(agent=agent, keys=tuple(entry.key for entry in entries), places=places)
