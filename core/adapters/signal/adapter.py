"""The adapter of a Signal number, by the HTTP daemon of signal-cli: JSON-RPC for requests, a stream of events.

Signal has no idempotency keys and signal-cli no look-up, so a send whose response was lost stays in doubt. signal-cli
acknowledges messages to Signal's servers as it receives them, and keeps the newest thousand in memory for a client that
comes back: docs/platforms/signal.md says what follows from that.
"""

from __future__ import annotations

import base64
import mimetypes
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from itertools import count
from typing import Any

import httpx
import msgspec
from httpx_sse import ServerSentEvent, aconnect_sse

from trunkline.core.action_names import Action
from trunkline.core.actions.requests import ActionRequest
from trunkline.core.adapters.account_adapter import AccountAdapter
from trunkline.core.adapters.account_events import AccountEvents
from trunkline.core.adapters.httpx_requests import HttpxRequests
from trunkline.core.adapters.media_files import MediaFiles
from trunkline.core.adapters.port import AdapterHost
from trunkline.core.adapters.signal.answers import SentResult, is_member, result_of, sent_of
from trunkline.core.adapters.signal.authors import MessageAuthors
from trunkline.core.adapters.signal.bodies import (
    check_text,
    delete_params,
    edit_params,
    message_params,
    reaction_params,
    recipient,
)
from trunkline.core.adapters.signal.config import SignalConfig
from trunkline.core.adapters.signal.updates import SaidMessage, SignalEventError, read_event
from trunkline.core.channels import rules_for
from trunkline.core.errors import NotSent, PlaceGone, PlatformError, Refused
from trunkline.core.values import (
    Address,
    Capabilities,
    Capability,
    ChatKind,
    Envelope,
    Markup,
    Peer,
    Receipt,
    SendRequest,
)


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
_OK = 200
#: failed members of a group that are recorded for one message
_MOST_FAILED = 20


class SignalAdapter(AccountAdapter):
    """`trunkline.core.adapters.port.PlatformAdapter` for a number."""

    def __init__(self, config: SignalConfig, host: AdapterHost) -> None:
        rules = rules_for(CHANNEL)
        capabilities = Capabilities(
            can=frozenset({Capability.TEXT, Capability.MEDIA, Capability.MESSAGE_IDS}),
            actions=frozenset(rules.actions) - {Action.SEND, Action.BROADCAST},
            in_flight_seconds=config.request_timeout,
            markup=Markup.STYLED,
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

    def running(self) -> AbstractAsyncContextManager[object]:
        """Hold the adapter's resources while the block runs. Opens no connection."""
        return self._http.running()

    # ------------------------------------------------------------ inbound

    @asynccontextmanager
    async def connect(self) -> AsyncGenerator[AsyncIterator[Envelope]]:
        """Read the stream of events, from where the last acknowledged message was."""
        last = await self._cursors.load(_CURSOR)
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
                async with aclosing(source.aiter_sse()) as events, aclosing(self._envelopes(events)) as found:
                    yield found
        except httpx.HTTPError as error:
            raise NotSent(f"the stream of events broke: {type(error).__name__}") from error

    async def _envelopes(self, events: AsyncIterator[ServerSentEvent]) -> AsyncGenerator[Envelope]:
        try:
            async for event in events:
                envelope = self._read_envelope(event)
                message = None if envelope is None else (envelope.address.conversation, envelope.message_id)
                if self._cursor.note_event(event.id, message) and envelope is not None:
                    yield envelope
        except httpx.HTTPError as error:
            raise NotSent(f"the stream of events broke: {type(error).__name__}") from error
        raise NotSent("signal-cli closed the stream")

    def _read_envelope(self, event: ServerSentEvent) -> Envelope | None:
        if not event.data:
            return None
        try:
            said = read_event(event.data, self._config.number)
        except SignalEventError as error:
            self._events.record_drop(event.id, str(error))
            return None
        return None if said is None else self._make_envelope(said)

    def _make_envelope(self, said: SaidMessage) -> Envelope:
        kind = ChatKind.DIRECT if said.group is None else ChatKind.GROUP
        conversation = said.author if said.group is None else said.group
        return Envelope(
            address=Address(channel=CHANNEL, account=self.account, kind=kind, conversation=conversation),
            peer=Peer(id=said.author, name=said.name),
            message_id=self._authors.note(conversation, said.time, said.author, said.text),
            text=said.text,
            sent_at=said.time / 1000,
            reply_to=None if said.quotes is None else str(said.quotes),
        )

    async def ack(self, envelope: Envelope) -> None:
        """Move the cursor, if every earlier message is durable too."""
        reached = self._cursor.note_durable((envelope.address.conversation, envelope.message_id))
        if reached is not None:
            await self._cursors.save(_CURSOR, reached)

    # ------------------------------------------------------------ outbound

    async def send(self, request: SendRequest) -> Receipt:
        """Send a message. The files are loaded first, and sent in the same request."""
        self.check_sendable(request)
        check_text(request.text, self.capabilities.text_limit)
        recipient(request.address)
        files = [await self._attachment(media, request) for media in request.media]
        sent = await self._call_for_places("send", message_params(request, files, self._authors), request.address)
        place = request.address
        receipt = self._authors.note(place.conversation, sent.timestamp, self._config.number, request.text)
        return Receipt(provider_id=receipt, address=place)

    async def act(self, request: ActionRequest) -> Receipt:
        """Edit or delete a message of the account, or react to a message, which keeps the first id."""
        method, params = self._change(request)
        await self._call_for_places(method, params, request.address)
        return Receipt(provider_id=request.message_id or "", address=request.address)

    def _change(self, request: ActionRequest) -> tuple[str, dict[str, Any]]:
        if request.action is Action.EDIT:
            return "send", edit_params(request, self._authors, self.capabilities.text_limit)
        if request.action is Action.DELETE:
            return "remoteDelete", delete_params(request, self._authors)
        if request.action is Action.REACT:
            return "sendReaction", reaction_params(request, self._authors, _named_author(request.fields))
        raise Refused(f"Signal has no {request.action.value}")

    async def _call_for_places(self, method: str, params: dict[str, Any], place: Address) -> SentResult:
        try:
            sent = sent_of(await self._call(method, params))
        except Refused as error:
            raise await self._refine_refusal(error, place) from error
        for result in sent.failed[:_MOST_FAILED]:
            self._events.record_failure(str(sent.timestamp), result.name, code=result.type, detail=result.facts)
        return sent

    async def _refine_refusal(self, error: Refused, place: Address) -> Refused:
        """A refusal in a group, as `PlaceGone` if the account is no member: signal-cli has no code for this case."""
        if place.kind is not ChatKind.GROUP or isinstance(error, PlaceGone):
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

    async def _attachment(self, media: str, request: SendRequest) -> str:
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
    """The author of a message, as named by the caller of the tool."""
    if fields is None:
        return None
    try:
        given = msgspec.json.decode(fields, type=dict[str, Any])
    except msgspec.MsgspecError:
        return None
    found = given.get("targetAuthor") or given.get("targetAuthorUuid")
    return found.removeprefix("uuid:") if isinstance(found, str) else None
