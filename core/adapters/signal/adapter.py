"""The adapter of a Signal number, by the HTTP daemon of signal-cli: JSON-RPC for requests, a stream of events.

Signal has no idempotency keys and signal-cli no look-up, so a send whose response was lost stays in doubt. signal-cli
acknowledges messages to Signal's servers as it receives them, and keeps the newest thousand in memory for a client that
comes back: docs/platforms/signal.md says what follows from that.
"""

import asyncio
import base64
import mimetypes
import re
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from itertools import count
from typing import Any

import httpx
import msgspec
from httpx_sse import ServerSentEvent, aconnect_sse

from trunkline.core import values
from trunkline.core.action_catalogue import Action
from trunkline.core.actions.requests import ActionRequest
from trunkline.core.adapters.account_events import AccountEvents
from trunkline.core.adapters.httpx_requests import HttpxRequests
from trunkline.core.adapters.json_values import parameters_of
from trunkline.core.adapters.media_files import MediaFiles
from trunkline.core.adapters.own_names import OwnPost
from trunkline.core.adapters.port import AdapterHost
from trunkline.core.adapters.signal.answers import SentResult, account_id, is_member, result_of, sent_of
from trunkline.core.adapters.signal.config import SignalConfig
from trunkline.core.adapters.signal.updates import SaidMessage, SignalEventError, read_event
from trunkline.core.channels import rules_for
from trunkline.core.channels.account_adapter import AccountAdapter
from trunkline.core.errors import NotSent, PlaceGone, PlatformError, Refused, StoreError

# The authors of messages: Signal names a message by author and time, and the gateway by a single id.

_ID = re.compile(r"([0-9]{1,18})(?::(\S{1,100}))?")
_MOST = 4000
#: characters of a text that a quote shows
_QUOTED = 200


class MessageAuthors:
    """The newest messages of all conversations, in memory only.

    An id is a message's time in milliseconds. If two people write in a group in the same millisecond, the second id has
    its author too, so that none of them counts as a repetition of the other.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], tuple[str | None, str]] = {}

    def note(self, conversation: str, time: int, author: str, text: str) -> str:
        id = str(time)  # noqa: A001 -- the word
        known = self._known.get((conversation, id))
        if known is not None and known[0] != author:
            id = f"{time}:{author}"  # noqa: A001
        self._known.pop((conversation, id), None)
        self._known[conversation, id] = (author, text[:_QUOTED])
        if len(self._known) > _MOST:
            del self._known[next(iter(self._known))]
        return id

    def id_of(self, conversation: str, time: int, author: str) -> str:
        """The id of a message by its time and author."""
        named = f"{time}:{author}"
        return named if (conversation, named) in self._known else str(time)

    def is_own(self, time: int, text: str, number: str) -> bool:
        sent = (number, text[:_QUOTED])
        return any(key[1] == str(time) and known == sent for key, known in self._known.items())

    def find(self, place: values.Address, message_id: str) -> tuple[int, str | None, str]:
        """Time, author and text of a message. The author is None, and the text empty, if they are not known.

        In a direct conversation, a message that is not remembered counts as the other person's. Raises `Refused` for
        what is no id.
        """
        found = _ID.fullmatch(message_id)
        if found is None:
            raise Refused("the id of a message is its time in milliseconds")
        author, text = self._known.get((place.conversation, message_id), (found[2], ""))
        if author is None and place.kind is values.ChatKind.DIRECT:
            author = place.conversation
        return int(found[1]), author, text


# The parameters of calls to signal-cli. Pure, but for what `MessageAuthors` remembers.

_USERNAME = "username:"


def recipient(place: values.Address) -> dict[str, Any]:
    """The recipient of a message. Raises `Refused` for a place unknown to Signal."""
    if place.thread is not None:
        raise Refused("Signal has no threads")
    if place.kind is values.ChatKind.GROUP:
        return {"groupId": place.conversation}
    if place.kind is not values.ChatKind.DIRECT:
        raise Refused("Signal has people and groups only")
    if place.conversation.lower().startswith(_USERNAME):
        return {"username": [place.conversation[len(_USERNAME) :]]}
    return {"recipient": [place.conversation.removeprefix("uuid:")]}


def styles_of(styles: Sequence[values.Style]) -> list[str]:
    """Ranges of a text in UTF-16 code units, in the form of signal-cli: ``0:4:BOLD``."""
    return [f"{style.start}:{style.length}:{style.kind.value.upper()}" for style in styles]


def message_params(request: values.SendRequest, attachments: Sequence[str], authors: MessageAuthors) -> dict[str, Any]:
    """The parameters of a send. A quote without a known author, which signal-cli needs, is left out."""
    params: dict[str, Any] = recipient(request.address) | {"message": request.text}
    if request.styles:
        params["textStyle"] = styles_of(request.styles)
    if attachments:
        params["attachments"] = list(attachments)
    if request.reply_to is not None:
        time, author, text = authors.find(request.address, request.reply_to)
        if author is not None:
            params |= {"quoteTimestamp": time, "quoteAuthor": author, "quoteMessage": text}
    if not request.text and not attachments:
        raise Refused("a message needs a text or a file")
    return params


def edit_params(request: ActionRequest, authors: MessageAuthors, limit: int) -> dict[str, Any]:
    """The parameters of an edit, which is a send with the time of the message."""
    if not request.text.strip() or len(request.text) > limit:
        raise Refused(f"the new text is empty, or longer than {limit}")
    params = recipient(request.address) | {"message": request.text}
    if request.styles:
        params["textStyle"] = styles_of(request.styles)
    return params | {"editTimestamp": _meant(request, authors)[0]}


def delete_params(request: ActionRequest, authors: MessageAuthors) -> dict[str, Any]:
    """The parameters of a deletion for everybody."""
    return recipient(request.address) | {"targetTimestamp": _meant(request, authors)[0]}


def reaction_params(request: ActionRequest, authors: MessageAuthors, author: str | None) -> dict[str, Any]:
    """The parameters of a reaction. `author`: who wrote the message, as the caller of the tool says."""
    time, known, _ = _meant(request, authors)
    author = author or known
    if author is None:
        raise Refused("it is not known who wrote that message: say it by targetAuthor")
    emoji = request.text.strip()
    if not emoji:
        raise Refused("there is no emoji")
    params = recipient(request.address) | {"emoji": emoji, "targetAuthor": author, "targetTimestamp": time}
    return params | ({"remove": True} if request.remove else {})


def _meant(request: ActionRequest, authors: MessageAuthors) -> tuple[int, str | None, str]:
    if request.message_id is None:
        raise Refused("it names no message")
    return authors.find(request.address, request.message_id)


class EventCursor:
    """The events in order, until all events up to each are done.

    signal-cli has an id for each event since it keeps the newest thousand; without ids there is nothing to go back to.
    """

    def __init__(self) -> None:
        #: id of the event, and the conversation and id of its message; None: nothing to wait for
        self._open: deque[tuple[str, tuple[str, str] | None]] = deque()
        #: events whose messages are durable, behind a message that is not; with the message, because a restarted daemon
        #: may count from the beginning
        self._done: dict[str, tuple[str, str]] = {}

    def begin(self) -> None:
        """A new connection: what was not done comes again."""
        self._open.clear()

    def note_event(self, event_id: str, message: tuple[str, str] | None) -> bool:
        """Note an event. Returns whether to hand on the message: not a durable message."""
        known = message is not None and self._done.get(event_id) == message
        if event_id:
            self._open.append((event_id, None if known else message))
        return message is not None and not known

    def note_durable(self, message: tuple[str, str]) -> str | None:
        """Note a durable message. Returns the id to continue after, if the position has moved."""
        for place, (event_id, waiting) in enumerate(self._open):
            if waiting == message:
                self._open[place] = (event_id, None)
                self._done[event_id] = message
        reached = None
        while self._open and self._open[0][1] is None:
            reached = self._open.popleft()[0]
            self._done.pop(reached, None)
        return reached


CHANNEL = "signal"
#: name of the cursor, and its value before the first event: signal-cli sends all that it keeps for an unknown id
_CURSOR, _BEGIN = "event", "0"
#: in the name of the cursor with the account id of a number
_OWN_ID = "id of "
_OK = 200
#: failed members of a group that are recorded for one message
_MOST_FAILED = 20


class SignalAdapter(AccountAdapter):
    """`trunkline.core.adapters.port.PlatformAdapter` for a number."""

    def __init__(self, config: SignalConfig, host: AdapterHost) -> None:
        rules = rules_for(CHANNEL)
        capabilities = values.Capabilities(
            can=frozenset({values.Capability.TEXT, values.Capability.MEDIA, values.Capability.MESSAGE_IDS}),
            actions=frozenset(rules.actions) - {Action.SEND, Action.BROADCAST},
            in_flight_seconds=config.request_timeout,
            markup=values.Markup.STYLED,
            text_limit=rules.text_limit,
        )
        super().__init__(CHANNEL, host.account, capabilities)
        self._config = config
        self._cursors = host.cursors
        self._events = AccountEvents(host, CHANNEL)
        self._files = MediaFiles(host, config.files, config.request_timeout, hosts=config.file_hosts)
        self._http = HttpxRequests(config.request_timeout)
        self._authors = MessageAuthors()
        self._cursor = EventCursor()
        self._calls = count(1)
        self._events.own.learn(config.number)
        #: the account's id, and what asks for it
        self._own_id: str | None = None
        self._asking: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Hold the adapter's resources while the block runs. Opens no connection."""
        async with self._http.running():
            try:
                yield
            finally:
                if self._asking is not None:
                    self._asking.cancel()

    @asynccontextmanager
    async def connect(self) -> AsyncGenerator[AsyncIterator[values.Envelope]]:
        """Read the stream of events, from where the last acknowledged message was."""
        last = await self._cursors.load(_CURSOR)
        if self._own_id is None:
            self._own_id = await self._cursors.load(f"{_OWN_ID}{self._config.number}")
            self._events.own.learn(self._own_id)
        self._cursor.begin()
        config = self._config
        timeout = httpx.Timeout(config.request_timeout, read=config.silence)
        headers = {} if last is None else {"Last-Event-ID": last}
        url, query = f"{config.daemon}/api/v1/events", {"account": config.number}
        client = self._http.client
        try:
            async with aconnect_sse(client, "GET", url, params=query, headers=headers, timeout=timeout) as source:
                _check_stream(source.response)
                if last is None:
                    # From now on, nothing that comes may be missed by the next process.
                    await self._cursors.save(_CURSOR, _BEGIN)
                self._events.record_connection("events")
                if self._own_id is None and self._asking is None:
                    self._asking = asyncio.create_task(self._learn_own_id())
                async with aclosing(source.aiter_sse()) as events, aclosing(self._envelopes(events)) as found:
                    yield found
        except httpx.HTTPError as error:
            raise NotSent(f"the stream of events broke: {type(error).__name__}") from error

    async def _learn_own_id(self) -> None:
        """Learn the account's id, under which own posts may come back. The id is stored, and asked for once."""
        with suppress(PlatformError, StoreError, msgspec.MsgspecError):
            own = account_id(await self._call("getUserStatus", {"recipient": [self._config.number]}))
            if own is not None:
                await self._note_own_id(own)

    async def _note_own_id(self, *names: str) -> None:
        """Note the account's id among names of the account."""
        own = next((name for name in names if not name.startswith("+")), None)
        if own is not None and own != self._own_id:
            self._own_id = own
            self._events.own.learn(own)
            await self._cursors.save(f"{_OWN_ID}{self._config.number}", own)

    async def _envelopes(self, events: AsyncIterator[ServerSentEvent]) -> AsyncGenerator[values.Envelope]:
        try:
            async for event in events:
                envelope = await self._read_envelope(event)
                message = None if envelope is None else (envelope.address.conversation, envelope.message_id)
                if self._cursor.note_event(event.id, message) and envelope is not None:
                    yield envelope
        except httpx.HTTPError as error:
            raise NotSent(f"the stream of events broke: {type(error).__name__}") from error
        raise NotSent("signal-cli closed the stream")

    async def _read_envelope(self, event: ServerSentEvent) -> values.Envelope | None:
        if not event.data:
            return None
        try:
            said = read_event(event.data, self._config.number, self._events.own)
            new = None if said is None or said.deed is not None else said
            if new is not None and new.uuid and self._authors.is_own(new.time, new.text, self._config.number):
                # The account's post under a name that it does not know yet.
                self._events.own.learn(new.uuid)
                return None
        except SignalEventError as error:
            self._events.record_drop(event.id, str(error))
            return None
        except OwnPost as post:
            if post.account == self.account:
                await self._note_own_id(*post.names)
            self._events.record_own(event.id, post)
            return None
        return None if said is None else self._make_envelope(said)

    def _make_envelope(self, said: SaidMessage) -> values.Envelope:
        kind = values.ChatKind.DIRECT if said.group is None else values.ChatKind.GROUP
        conversation = said.author if said.group is None else said.group
        deed = None
        if said.deed is not None:
            deed = values.Deed(
                kind=said.deed, of=self._authors.id_of(conversation, said.of[0], said.of[1] or said.author)
            )
        # A later edit names the message by this edit, and so by the time alone.
        edit = str(said.time) if said.deed is values.DeedKind.EDIT else f"{said.time}:{said.author}"
        return values.Envelope(
            address=values.Address(channel=CHANNEL, account=self.account, kind=kind, conversation=conversation),
            peer=values.Peer(id=said.author, name=said.name),
            message_id=self._authors.note(conversation, said.time, said.author, said.text) if deed is None else edit,
            deed=deed,
            text=said.text,
            parts=said.parts,
            sent_at=said.time / 1000,
            reply_to=None if said.quotes is None else str(said.quotes),
        )

    async def ack(self, envelope: values.Envelope) -> None:
        """Move the cursor, if every earlier message is durable too."""
        reached = self._cursor.note_durable((envelope.address.conversation, envelope.message_id))
        if reached is not None:
            await self._cursors.save(_CURSOR, reached)

    async def send(self, request: values.SendRequest) -> values.Receipt:
        """Send a message. The files are loaded first, and sent in the same request."""
        self.check_sendable(request)
        recipient(request.address)
        files = [await self._attachment(media, request) for media in request.media]
        sent = await self._call_for_places("send", message_params(request, files, self._authors), request.address)
        place = request.address
        receipt = self._authors.note(place.conversation, sent.timestamp, self._config.number, request.text)
        return values.Receipt(provider_id=receipt, address=place)

    async def act(self, request: ActionRequest) -> values.Receipt:
        """Edit or delete a message of the account, or react to a message, which keeps the first id."""
        method, params = self._change(request)
        await self._call_for_places(method, params, request.address)
        return values.Receipt(provider_id=request.message_id or "", address=request.address)

    def _change(self, request: ActionRequest) -> tuple[str, dict[str, Any]]:
        if request.action is Action.EDIT:
            return "send", edit_params(request, self._authors, self.capabilities.text_limit)
        if request.action is Action.DELETE:
            return "remoteDelete", delete_params(request, self._authors)
        if request.action is Action.REACT:
            return "sendReaction", reaction_params(request, self._authors, _named_author(request.fields))
        raise Refused(f"Signal has no {request.action.value}")

    async def _call_for_places(self, method: str, params: dict[str, Any], place: values.Address) -> SentResult:
        try:
            sent = sent_of(await self._call(method, params))
        except Refused as error:
            raise await self._refine_refusal(error, place) from error
        for result in sent.failed[:_MOST_FAILED]:
            self._events.record_failure(str(sent.timestamp), result.name, code=result.type, detail=result.facts)
        return sent

    async def _refine_refusal(self, error: Refused, place: values.Address) -> Refused:
        """A refusal in a group, as `PlaceGone` if the account is no member: signal-cli has no code for this case."""
        if place.kind is not values.ChatKind.GROUP or isinstance(error, PlaceGone):
            return error
        try:
            found = await self._call("listGroups", {"groupId": [place.conversation]})
            return error if is_member(found, place.conversation) else PlaceGone(error.facts)
        except (PlatformError, msgspec.MsgspecError):
            return error

    async def _call(self, method: str, params: dict[str, Any]) -> bytes:
        """Make a call; returns the result as JSON. Raises a `PlatformError`."""
        id = str(next(self._calls))  # noqa: A001 -- the word of JSON-RPC
        body = {"jsonrpc": "2.0", "method": method, "id": id, "params": {"account": self._config.number, **params}}
        found = await self._http.request("POST", f"{self._config.daemon}/api/v1/rpc", json=body)
        return result_of(found.status_code, found.content, id)

    async def _attachment(self, media: str, request: values.SendRequest) -> str:
        """A file as a ``data:`` URL, which signal-cli takes from any machine."""
        if media.startswith("data:"):
            return media
        given = request.parts
        name = (given.file_name if given is not None else None) or media.partition("?")[0].rpartition("/")[2]
        file = await self._files.load(media)
        kind = (given.mime_type if given is not None else None) or file.media_type
        kind = kind or mimetypes.guess_type(name)[0] or "application/octet-stream"
        safe = "".join(letter if letter.isalnum() or letter in "._-" else "_" for letter in name) or "file"
        return f"data:{kind};filename={safe};base64,{base64.b64encode(file.content).decode()}"


def _check_stream(response: httpx.Response) -> None:
    """Raise `NotSent` unless a response is a stream of events."""
    kind = response.headers.get("content-type", "").partition(";")[0].strip()
    if response.status_code != _OK or kind != "text/event-stream":
        raise NotSent(f"no stream of events: status {response.status_code}, {kind or 'no media type'}")


def _named_author(fields: str | None) -> str | None:
    given = parameters_of(fields)
    found = given.get("targetAuthor") or given.get("targetAuthorUuid")
    return found.removeprefix("uuid:") if isinstance(found, str) else None
