"""The inbound half: syncs, the gaps between, invitations, and the saved token."""

import json
from collections import Counter, deque
from collections.abc import AsyncGenerator, Iterable
from typing import Any

import anyio

from trunkline.core.adapters.account_events import AccountEvents
from trunkline.core.adapters.json_values import as_list
from trunkline.core.adapters.matrix.api import V3, MatrixApi, MatrixRefused
from trunkline.core.adapters.matrix.config import MatrixConfig
from trunkline.core.adapters.matrix.content import MatrixEvent
from trunkline.core.adapters.matrix.inbound import updates
from trunkline.core.adapters.matrix.rooms import RoomBook
from trunkline.core.adapters.own_names import OwnPost
from trunkline.core.adapters.port import AdapterHost
from trunkline.core.channels.acts import album_of
from trunkline.core.errors import Ambiguous, NotSent, PlatformError, Unauthorized
from trunkline.core.reasons import Reason
from trunkline.core.values import Envelope, Peer
from trunkline.core.well_formed import well_formed


class SyncProgress:
    """The answers of syncs since the saved token, and which of their messages are acknowledged."""

    def __init__(self) -> None:
        #: token after an answer, and its messages that are not acknowledged, in the order of the answers
        self._waiting: deque[tuple[str, set[str]]] = deque()
        #: messages that were acknowledged although an earlier message still waits: they come again after a reconnect
        self._ahead: set[str] = set()
        #: the newest token that may be saved; None: nothing has changed yet
        self.safe: str | None = None

    def begin(self) -> None:
        """The stream begins again from the saved token."""
        self._waiting.clear()

    def is_done(self, message_id: str) -> bool:
        return message_id in self._ahead

    def note_answer(self, token: str, message_ids: Iterable[str]) -> None:
        """Note an answer, with the next token and the messages handed over."""
        self._waiting.append((token, set(message_ids)))
        self._advance()

    def note_durable(self, message_id: str) -> None:
        for _, waiting in self._waiting:
            if message_id in waiting:
                waiting.discard(message_id)
                self._ahead.add(message_id)
        self._advance()

    def _advance(self) -> None:
        while self._waiting and not self._waiting[0][1]:
            self.safe = self._waiting.popleft()[0]
        if not self._waiting:
            self._ahead.clear()


#: events of a room in an answer; a larger number is fetched in pages
_AT_ONCE, _PAGE = 50, 100
#: events of a new room that are searched for the account's invitation
_MOST_OF_NEW = 1000
#: how often an invitation is tried, over as many connections, before the other rooms go on without it
_TRIES = 3
#: seconds until a token is saved before which there was no message
_SAVE_EVERY = 60.0
_EVENTS: dict[str, Any] = {"types": list(updates.TYPES)}
#: what the account wants to know of its rooms
_FILTER = json.dumps(
    {
        "presence": {"not_types": ["*"]},
        "account_data": {"types": ["m.direct"]},
        "room": {
            "timeline": {**_EVENTS, "limit": _AT_ONCE},
            "state": {"types": ["m.room.member", "m.room.encryption", "m.room.create"], "lazy_load_members": True},
            "ephemeral": {"not_types": ["*"]},
            "account_data": {"not_types": ["*"]},
        },
    },
    separators=(",", ":"),
)
_PAGE_FILTER = json.dumps(_EVENTS, separators=(",", ":"))


class SyncReader:
    def __init__(
        self, api: MatrixApi, book: RoomBook, host: AdapterHost, events: AccountEvents, config: MatrixConfig
    ) -> None:
        self._api = api
        self._book = book
        self._host = host
        self._events = events
        self._me = config.user
        events.own.learn(config.user)
        self._poll = config.poll_seconds
        self._join = config.join
        self._progress = SyncProgress()
        self._saving = anyio.Lock()
        self._saved: str | None = None
        self._saved_at = host.env.steady()
        #: invitations that could not be accepted for now, and how often
        self._tried: Counter[str] = Counter()
        #: the token is of a user: another user of the account has another token
        self._cursor = f"since {config.user}"

    async def begin(self) -> updates.SyncAnswer:
        """The first answer of a connection: everything since the saved token; without a token, nothing from before."""
        self._progress.begin()
        self._saved = await self._host.cursors.load(self._cursor)
        since = self._saved
        answer = await self._sync(since, 0.0)
        if since is None:
            # What was said before the account was used for the first time is not for the gateway.
            rooms = [updates.MatrixTimeline(room=timeline.room, state=timeline.state) for timeline in answer.rooms]
            if answer.direct is not None:
                self._book.note_direct(answer.direct)
            # Before the account counts as connected: what is said from then on is read by the next process too.
            for invite in answer.invites:
                await self._accept(invite)
            await self._save(answer.next_batch)
            answer = updates.SyncAnswer(
                next_batch=answer.next_batch, rooms=tuple(rooms), invites=(), direct=answer.direct
            )
        return answer

    async def messages(self, first: updates.SyncAnswer) -> AsyncGenerator[Envelope]:
        """The messages of people, from the first answer on. Raises `PlatformError` when the connection breaks."""
        answer, before = first, self._saved or first.next_batch
        while True:
            found = await self._read(answer, before)
            self._progress.note_answer(answer.next_batch, [envelope.message_id for envelope in found])
            # An invitation comes once: from its token on it is accepted. Another token without messages is saved now
            # and then, to spare the next process some reading.
            if not found and (answer.invites or self._host.env.steady() - self._saved_at >= _SAVE_EVERY):
                await self._save(self._progress.safe)
            for envelope in found:
                yield envelope
            before = answer.next_batch
            answer = await self._sync(before, self._poll)

    async def _sync(self, since: str | None, poll: float) -> updates.SyncAnswer:
        query = {"filter": _FILTER, "timeout": str(round(poll * 1000))}
        if since is not None:
            query["since"] = since
        answer = updates.read_sync(await self._api.get(V3.sync, query, patient=True), self._me)
        if answer is None:
            raise Ambiguous("the answer of the sync has no token")
        return answer

    async def ack(self, message_id: str) -> None:
        """Note a durable message, and save the token as far as allowed."""
        self._progress.note_durable(message_id)
        await self._save(self._progress.safe)

    async def _save(self, token: str | None) -> None:
        async with self._saving:
            newest = self._progress.safe or token
            if newest is not None and newest != self._saved:
                await self._host.cursors.save(self._cursor, newest)
                self._saved, self._saved_at = newest, self._host.env.steady()

    async def _read(self, answer: updates.SyncAnswer, before: str) -> list[Envelope]:
        """The new messages in an answer; invitations are accepted. `before`: the token of the request."""
        if answer.direct is not None:
            self._book.note_direct(answer.direct)
        for room in answer.left:
            self._book.note_left(room)
        for invite in answer.invites:
            await self._accept(invite)
        found: list[Envelope] = []
        for timeline in answer.rooms:
            if timeline.gap_before is not None:
                # Who came and went in the gap is not known.
                self._book.note_left(timeline.room)
            for raw in (*timeline.state, *timeline.events):
                event = updates.read_event(raw)
                if isinstance(event, MatrixEvent):
                    self._book.note(timeline.room, event)
            for raw in await self._fetch_events(timeline, before):
                envelope = await self._read_envelope(timeline.room, raw)
                if envelope is not None and not self._progress.is_done(envelope.message_id):
                    found.append(envelope)
        return found

    async def _accept(self, invite: updates.MatrixInvite) -> None:
        if not self._join:
            return
        try:
            await self._api.post(V3.rooms[invite.room].join, {})
        except MatrixRefused as error:
            self._events.record_drop(invite.room, f"the invitation cannot be accepted: {error.facts}", Reason.REFUSED)
            return
        except (NotSent, Unauthorized):
            raise
        except PlatformError as error:
            # Anybody can invite to a room of a server that never answers.
            self._tried[invite.room] += 1
            if self._tried[invite.room] < _TRIES:
                raise
            del self._tried[invite.room]
            facts = f"the invitation cannot be accepted now, and has to be repeated: {error.facts}"
            self._events.record_drop(invite.room, facts, error.reason)
            return
        if invite.is_direct and invite.sender and await self._book.direct_room(invite.sender) is None:
            await self._book.adopt(invite.room, invite.sender)

    async def _fetch_events(self, timeline: updates.MatrixTimeline, before: str) -> list[object]:
        """The events of a room since the last answer, including events which did not fit into the answer."""
        joined = updates.is_new_room(timeline, self._me)
        events = list(timeline.events)
        if timeline.gap_before is not None:
            try:
                events = [
                    *await self._fetch_gap(timeline.room, timeline.gap_before, None if joined else before),
                    *events,
                ]
            except MatrixRefused as error:
                # It will be refused again: the other rooms go on.
                facts = f"what was said before {timeline.gap_before} cannot be read: {error.facts}"
                self._events.record_drop(timeline.room, facts, Reason.REFUSED)
        return updates.after_joining(events, self._me) if joined else events

    async def _fetch_gap(self, room: str, token: str, until: str | None) -> list[object]:
        """The events of a room before a token, oldest first: back to a token, or to the account's own invitation."""
        found: list[object] = []
        query = {"dir": "b", "limit": str(_PAGE), "filter": _PAGE_FILTER}
        if until is not None:
            query["to"] = until
        while True:
            page = await self._api.get(V3.rooms[room].messages, {**query, "from": token})
            if not isinstance(page.get("chunk"), list):
                raise Ambiguous("the answer has no events")
            events = as_list(page.get("chunk"))
            found += events
            end = page.get("end")
            if not isinstance(end, str) or end == token:
                return found[::-1]
            if until is None and (
                len(found) >= _MOST_OF_NEW or any(updates.begins_membership(event, self._me) for event in events)
            ):
                return found[::-1]
            token = end

    async def _read_envelope(self, room: str, found: object) -> Envelope | None:
        event = updates.read_event(found)
        if isinstance(event, MatrixEvent):
            try:
                self._events.own.check(event.sender)
            except OwnPost as post:
                self._events.record_own(event.event_id, post)
                return None
            if event.type == updates.REDACTION:
                place = await self._book.address_of(room, None)
                self._events.report_loss(place.conversation, updates.redacted_by(event), Reason.DELETED_BY_OTHERS)
        message = event
        if isinstance(event, MatrixEvent):
            message = updates.read_deed(event) or updates.read_message(event)
        if isinstance(message, updates.BadMatrixEvent):
            self._events.record_drop(message.event_id, f"{well_formed(room)}: {message.detail}", message.reason)
            return None
        if not isinstance(message, updates.MatrixMessage):
            return None
        try:
            return await self._make_envelope(room, message)
        except MatrixRefused as error:
            facts = f"{well_formed(room)}: its members cannot be read: {error.facts}"
            self._events.record_drop(message.event_id, facts, error.reason)
            return None

    async def _make_envelope(self, room: str, message: updates.MatrixMessage) -> Envelope:
        members = await self._book.members(room)
        return Envelope(
            address=await self._book.address_of(room, message.thread),
            peer=Peer(id=message.sender, name=well_formed(members.get(message.sender, ""))),
            message_id=message.event_id,
            text=message.text,
            parts=message.parts,
            sent_at=message.sent_at,
            reply_to=message.reply_to,
            bot=message.notice,
            act=album_of(message.parts),
            deed=message.deed,
        )
