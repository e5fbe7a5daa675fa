"""The adapter of Matrix: texts, files and polls by transactions, messages by sync.

The gateway's key is the transaction id of the request. The homeserver remembers it for the user's device, so a resend
under the same key is the same event, also from another process (the client-server API, "transaction identifiers").
"""

import hashlib
import mimetypes
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager

from trunkline.core.action_catalogue import Action
from trunkline.core.actions.requests import ActionQuery, ActionRequest
from trunkline.core.adapters.account_events import AccountEvents
from trunkline.core.adapters.json_values import Json, as_object, as_text, as_texts
from trunkline.core.adapters.matrix.actions.changes import RoomTarget, change
from trunkline.core.adapters.matrix.actions.questions import answer_to
from trunkline.core.adapters.matrix.api import V3, MatrixApi, MatrixRefused, nothing_sent
from trunkline.core.adapters.matrix.config import MatrixConfig
from trunkline.core.adapters.matrix.content import MESSAGE, file_content, relation, text_content
from trunkline.core.adapters.matrix.inbound.sync import SyncReader
from trunkline.core.adapters.matrix.inbound.updates import thread_of
from trunkline.core.adapters.matrix.polls import POLL_START, poll_content
from trunkline.core.adapters.matrix.rooms import NameBook, RoomBook
from trunkline.core.adapters.media_files import MediaFile, MediaFiles
from trunkline.core.adapters.port import AdapterHost
from trunkline.core.channels import LateOutcome, Resolved, rules_for
from trunkline.core.channels.account_adapter import AccountAdapter
from trunkline.core.errors import Ambiguous, PlaceGone, Refused, Unauthorized
from trunkline.core.text.mirror_text import media_name
from trunkline.core.values import Address, Capabilities, Capability, Envelope, Idempotency, Receipt, SendRequest

#: seconds. Servers forget transaction ids: Synapse after 24 hours, and after 30 minutes if the token has no device
KEY_SECONDS = 1800.0
_CHANNEL = "matrix"
_UNKNOWN_TYPE = "application/octet-stream"
_POLL_OPTIONS = 20
_FORBIDDEN = "M_FORBIDDEN"


def capabilities_of(config: MatrixConfig) -> Capabilities:
    return Capabilities(
        can=frozenset({Capability.TEXT, Capability.MEDIA, Capability.POLL, Capability.THREADS, Capability.MESSAGE_IDS}),
        actions=frozenset(rules_for(_CHANNEL).actions) - {Action.SEND, Action.BROADCAST},
        idempotency=Idempotency.KEY,
        key_seconds=KEY_SECONDS,
        poll_options=_POLL_OPTIONS,
        text_limit=rules_for(_CHANNEL).text_limit,
        opens_threads=True,
        in_flight_seconds=config.request_timeout,
    )


class MatrixAdapter(AccountAdapter):
    """`trunkline.core.adapters.port.PlatformAdapter` for a user of a homeserver."""

    def __init__(self, config: MatrixConfig, host: AdapterHost) -> None:
        super().__init__(_CHANNEL, host.account, capabilities_of(config))
        self._config = config
        self._events = AccountEvents(host, _CHANNEL)
        self._files = MediaFiles(host, config.files, config.request_timeout, hosts=config.file_hosts)
        token = host.secret(config.token)
        self._api = MatrixApi(
            config.homeserver, token, request_timeout=config.request_timeout, poll_seconds=config.poll_seconds
        )
        self._book = RoomBook(self._api, config.user, host.account)
        self._names = NameBook(self._api, self._book, host.env)
        self._reader = SyncReader(self._api, self._book, host, self._events, config)

    def running(self) -> AbstractAsyncContextManager[object]:
        """Hold the adapter's resources while the block runs. Opens no connection."""
        return self._api.running()

    @asynccontextmanager
    async def connect(self) -> AsyncGenerator[AsyncIterator[Envelope]]:
        self._book.forget()
        # The echoes of somebody else's token would be answered.
        user = as_text((await self._api.get(V3.account.whoami)).get("user_id"))
        if user != self._config.user:
            raise Unauthorized(f"the token is of {user or 'nobody'}, and `user` is {self._config.user}")
        first = await self._reader.begin()
        self._events.record_connection("sync")
        async with aclosing(self._reader.messages(first)) as messages:
            yield messages

    def connect_late(self, call: Callable[[LateOutcome], None]) -> None:
        self._events.late = call

    async def ack(self, envelope: Envelope) -> None:
        """Save the token of the sync, as far as every message before is durable."""
        await self._reader.ack(envelope.message_id)

    async def send(self, request: SendRequest) -> Receipt:
        """Send a chunk: an event, and a further event for each file after the first."""
        self.check_sendable(request)
        with nothing_sent():
            room = await self._open_room(request.address)
            files = [await self._upload(file) for file in [await self._load(source) for source in request.media]]
        events = _events(request, files)
        first = await self._send_event(room, request.address, *events[0], transaction(request.key))
        for number, (kind, content) in enumerate(events[1:], 1):
            try:
                await self._send_event(room, request.address, kind, content, transaction(f"{request.key}/{number}"))
            except Refused as error:
                # The first event is visible, so the message is not refused as a whole.
                raise Ambiguous(f"file {number + 1} was refused, and what comes before it is visible") from error
        poll_id = None if request.poll is None else first
        return Receipt(provider_id=first, address=request.address, poll_id=poll_id)

    def check_sendable(self, request: SendRequest) -> None:
        """Raise `Refused` also for a poll with files, which are two events."""
        super().check_sendable(request)
        if request.poll is not None and request.media:
            raise Refused("a poll with files")

    async def _open_room(self, place: Address) -> str:
        """The room of a place. Raises `Refused` for an encrypted room, where nothing may be said in plain text."""
        room = await self._book.room_of(place)
        try:
            encrypted = await self._book.is_encrypted(room)
        except MatrixRefused as error:
            raise await self._refusal(room, error) from error
        if encrypted:
            raise Refused("the room is encrypted, and this account cannot encrypt")
        return room

    async def _load(self, source: str) -> MediaFile:
        found, name = await self._files.load(source), media_name(source)
        media_type = found.media_type or mimetypes.guess_type(name)[0] or _UNKNOWN_TYPE
        return MediaFile(name=name, media_type=media_type, content=found.content)

    async def _upload(self, file: MediaFile) -> tuple[MediaFile, str]:
        return file, await self._api.upload(file.content, file.media_type, file.name)

    async def _send_event(self, room: str, place: Address, kind: str, content: Json, txn: str) -> str:
        try:
            found = await self._api.put(V3.rooms[room].send[kind][txn], content)
        except MatrixRefused as error:
            raise await self._refusal(room, error, place.thread) from error
        event_id = found.get("event_id")
        if not isinstance(event_id, str) or not event_id:
            raise Ambiguous("the answer names no event")
        return event_id

    async def _refusal(self, room: str, error: MatrixRefused, thread: str | None = None) -> Refused:
        """The refusal of a send: `PlaceGone` if the account is not in the room, or the thread's root is not there."""
        if error.status == 404 and error.code:
            return PlaceGone(error.facts)
        with nothing_sent():
            if error.code == _FORBIDDEN:
                if room not in as_texts((await self._api.get(V3.joined_rooms)).get("joined_rooms")):
                    return PlaceGone(f"{self._config.user} is not in the room: {error.facts}")
            elif thread is not None and await self._api.find(V3.rooms[room].event[thread]) is None:
                return PlaceGone(f"the root of the thread is not there: {error.facts}")
        return error

    async def open_thread(self, place: Address, message_id: str, title: str) -> Address:
        """The thread on a message, or the thread around the message. The first message opens a thread."""
        with nothing_sent():
            room = await self._book.room_of(place)
            event = await self._api.find(V3.rooms[room].event[message_id])
        if event is None:
            raise Refused("no thread can be opened there: there is no such message")
        root = thread_of(as_object(event.get("content")))
        return Address(
            channel=self.channel,
            account=self.account,
            kind=place.kind,
            conversation=place.conversation,
            thread=root or message_id,
        )

    async def act(self, request: ActionRequest) -> Receipt:
        self._claimed(request.action)
        with nothing_sent():
            room = None if request.action is Action.SET_PROFILE else await self._open_room(request.address)
        target = RoomTarget(api=self._api, me=self._config.user, room=room or "", txn=transaction(request.key))
        return await change(target, request)

    async def ask(self, query: ActionQuery) -> object:
        self._claimed(query.action)
        asks_room = query.action is not Action.MEMBER_INFO
        room = await self._book.room_of(query.address) if asks_room else ""
        return await answer_to(RoomTarget(api=self._api, me=self._config.user, room=room, txn=""), query)

    def _claimed(self, action: Action) -> None:
        if action not in self.capabilities.actions:
            raise Refused(f"there is no {action.value} here")

    async def resolve_target(self, text: str) -> Resolved | None:
        """Look up an alias, or the name of a room or a person."""
        return await self._names.resolve(text)


def _events(request: SendRequest, files: list[tuple[MediaFile, str]]) -> list[tuple[str, Json]]:
    """The events of a message: the text goes with the first file."""
    place = relation(request.address.thread, request.reply_to)
    if request.poll is not None:
        return [(POLL_START, {**poll_content(request.poll, request.text), **place})]
    if not files:
        return [(MESSAGE, {**text_content(request.text, request.html), **place})]
    found: list[tuple[str, Json]] = []
    for number, (file, address) in enumerate(files):
        parts = request.parts
        name = (parts.file_name if parts is not None and number == 0 else None) or file.name
        mime_type = (parts.mime_type if parts is not None and number == 0 else None) or file.media_type
        text = request.text if number == 0 else ""
        content = file_content(address, name, mime_type, len(file.content), text, parts)
        found.append((MESSAGE, {**content, **place}))
    return found


#: characters; a longer key is hashed
_LONGEST_TXN = 255


def transaction(key: str) -> str:
    """The transaction id of a key: the key, or the hash of a key that is too long."""
    return key if len(key) <= _LONGEST_TXN else hashlib.sha256(key.encode()).hexdigest()
