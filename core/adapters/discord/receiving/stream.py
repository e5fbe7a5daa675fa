"""Inbound messages: by a connection to the gateway at a time, with everything missed since the connection before."""

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar, cast

import anyio
import msgspec

from trunkline.core.adapters.account_events import AccountEvents
from trunkline.core.adapters.discord import payloads
from trunkline.core.adapters.discord.calls import SNOWFLAKE, RestCall, get, post
from trunkline.core.adapters.discord.client import OneRequestClient
from trunkline.core.adapters.discord.config import DiscordConfig
from trunkline.core.adapters.discord.errors import is_from_proxy
from trunkline.core.adapters.discord.receiving.envelopes import (
    BadEvent,
    BotIds,
    check_own,
    deed_of,
    edit_of,
    envelope_of,
    place_of,
    press_of,
)
from trunkline.core.adapters.discord.receiving.gateway import GatewayEvent, GatewaySocket, SessionLost
from trunkline.core.adapters.discord.receiving.position import ReadPosition, StoredPosition
from trunkline.core.adapters.discord.rest import KnownChannels
from trunkline.core.adapters.json_values import as_object
from trunkline.core.adapters.own_names import OwnPost
from trunkline.core.adapters.port import AdapterHost
from trunkline.core.errors import NotSent, PlatformError, RateLimited, Refused, TargetError
from trunkline.core.reasons import Reason
from trunkline.core.values import Deed, DeedKind, Envelope

_POSITION = "gateway"
_PAGE = 100
#: seconds to wait at most before a page is asked for again
_LONGEST_WAIT = 60.0
_CHANNEL_EVENTS = frozenset({"CHANNEL_CREATE", "CHANNEL_UPDATE", "THREAD_CREATE", "THREAD_UPDATE"})
_CHANNEL_ENDS = frozenset({"CHANNEL_DELETE", "THREAD_DELETE"})
_MESSAGE_ENDS = frozenset({"MESSAGE_DELETE", "MESSAGE_DELETE_BULK"})
_REACTIONS = {"MESSAGE_REACTION_ADD": DeedKind.REACT, "MESSAGE_REACTION_REMOVE": DeedKind.UNREACT}
#: the answer to the use of a component that changes nothing yet
_DEFERRED_UPDATE = 6


class DiscordStream:
    def __init__(
        self, config: DiscordConfig, host: AdapterHost, events: AccountEvents, client: OneRequestClient
    ) -> None:
        self._config = config
        self._host = host
        self._events = events
        self._client = client
        self.channels = KnownChannels(client.call, host.cursors)
        self._position: ReadPosition | None = None
        self._saved = StoredPosition()
        self._saving = asyncio.Lock()
        #: who the account is; known after the first connection
        self.own: BotIds | None = None
        #: servers whose history is still to be read
        self._waiting: set[str] = set()
        self.socket: GatewaySocket | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        #: the address that the session is to be resumed at was tried in vain
        self._not_there = False

    @asynccontextmanager
    async def connect(self) -> AsyncGenerator[AsyncIterator[Envelope]]:
        """Connect, and resume the session or begin a new session. Raises `PlatformError`."""
        position = await self._load()
        there = position.stored.session is not None and not self._not_there
        # If no socket opens there, the next connection resumes at the address that the REST API names.
        self._not_there = there
        url = position.stored.url if there else await self._find_gateway()
        patience = self._config.request_timeout
        socket = await GatewaySocket.connect(self._client, url, patience)
        self._not_there = False
        socket.durable = lambda: position.seq
        early: list[Envelope] = []
        beats = asyncio.get_running_loop().create_task(
            socket.keep_alive(self._host.env.random("discord heartbeat").random())
        )
        try:
            try:
                with anyio.fail_after(patience):
                    await self._begin(socket, position)
            except TimeoutError:
                raise NotSent("the gateway does not begin the session") from None
            await self._store_first_position(socket, position, early)
            self._events.record_connection("gateway")
            self.socket = socket
            yield self._envelopes(socket, position, early)
        finally:
            self.socket = None
            beats.cancel()
            with anyio.CancelScope(shield=True):
                # This code keeps the session, so that the next connection can resume it.
                await socket.close(4000)

    async def _load(self) -> ReadPosition:
        if self._position is None:
            await self.channels.load()
            text = await self._host.cursors.load(_POSITION)
            try:
                self._saved = StoredPosition() if text is None else msgspec.json.decode(text, type=StoredPosition)
            except msgspec.MsgspecError as error:
                self._events.record_drop("", f"the stored position cannot be read, so the history is not: {error}")
            self._position = ReadPosition(self._saved)
        return self._position

    async def _find_gateway(self) -> str:
        answer = await self._client.call(get("gateway", "bot"))
        try:
            return msgspec.convert(answer, payloads.GatewayAnswer).url
        except msgspec.ValidationError as error:
            raise NotSent(f"the answer names no gateway: {error}") from None

    async def _begin(self, socket: GatewaySocket, position: ReadPosition) -> None:
        """Resume or identify, and wait for the acceptance of the gateway."""
        session = position.stored.session
        if session is None:
            await socket.start_session(message_content=self._config.message_content)
        else:
            await socket.resume_session(session, position.stored.seq)
            position.resume()
            self._waiting.clear()
        try:
            while not socket.events:
                await socket.receive()
        except SessionLost:
            position.forget_session()
            await self._save()
            raise

    async def _store_first_position(self, socket: GatewaySocket, position: ReadPosition, early: list[Envelope]) -> None:
        """On the first connection, store where the account begins to read, before the account counts as connected.

        Otherwise nobody would read what people write before the next process starts, if this process ends now. An
        unavailable server does not keep the others waiting for long. `early` gets the messages that come before.
        """
        end = anyio.current_time() + self._config.request_timeout
        while position.stored.after is None and anyio.current_time() < end:
            # Only the wait may be given up: an event that is taken is handled.
            with anyio.move_on_after(end - anyio.current_time()):
                while not socket.events:
                    await socket.receive()
            while socket.events:
                async for envelope in self._handle(socket.events.popleft(), position):
                    early.append(envelope)

    async def _envelopes(
        self, socket: GatewaySocket, position: ReadPosition, early: list[Envelope]
    ) -> AsyncIterator[Envelope]:
        for envelope in early:
            yield envelope
        while True:
            while socket.events:
                async for envelope in self._handle(socket.events.popleft(), position):
                    yield envelope
            try:
                await socket.receive()
            except SessionLost:
                position.forget_session()
                await self._save()
                raise

    async def _handle(self, event: GatewayEvent, position: ReadPosition) -> AsyncIterator[Envelope]:
        """The messages of an event. An unreadable message is dropped, visibly."""
        try:
            if event.wrong:
                raise BadEvent(event.wrong)
            if event.name == "READY":
                await self._note_session(read_event(event.data, payloads.ReadyData), position)
                async for envelope in self._read_direct_history(position):
                    yield envelope
            elif event.name == "GUILD_DELETE":
                await self._forget_guild(read_event(event.data, payloads.GuildStub), position)
            elif event.name == "GUILD_CREATE":
                async for envelope in self._read_guild(read_event(event.data, payloads.GuildData), position):
                    yield envelope
            else:
                found = [*await self._read_single(event)]
                for number, envelope in enumerate(found, 1):
                    # What is durable of an event is so as a whole.
                    if self._is_new(envelope, event.seq if number == len(found) else None, position):
                        yield envelope
                if found:
                    return
        except BadEvent as error:
            self._events.record_drop(f"{event.name} {id_of(event.data)}".strip(), str(error))
            if event.name == "READY":
                position.begin_unknown_session()
        position.pass_event(event.seq)

    def _is_new(self, envelope: Envelope, seq: int | None, position: ReadPosition) -> bool:
        """Whether a message goes to the gateway: not a durable message of an earlier connection."""
        written = envelope.pressed is None and envelope.deed is None
        if position.note_repeat(envelope.message_id, seq, written=written):
            return False
        position.hand_out(envelope.message_id, seq, written=written)
        return True

    async def _read_single(self, event: GatewayEvent) -> Sequence[Envelope]:
        """The message, press or deeds of people in an event; empty for any other event. Raises `BadEvent`."""
        found: Envelope | None = None
        if event.name == "MESSAGE_CREATE":
            found = await self._read_message(read_event(event.data, payloads.MessageData))
        elif event.name == "MESSAGE_UPDATE":
            found = await self._read_edit(event.data)
        elif event.name == "INTERACTION_CREATE":
            found = await self._read_press(event.data)
        elif event.name in _REACTIONS:
            found = await self._read_reaction(event)
        elif event.name in _MESSAGE_ENDS:
            return await self._read_ends(read_event(event.data, payloads.MessageEnds))
        elif event.name in _CHANNEL_EVENTS:
            channel = self.channels.note(read_event(event.data, payloads.ChannelData))
            state = channel.thread_metadata
            if channel.type in payloads.THREADS and state is not None and not (state.archived or state.locked):
                self._events.reopened(place_of(channel, self._host.account, ""))
        elif event.name in _CHANNEL_ENDS:
            self.channels.forget(read_event(event.data, payloads.ChannelData).id)
        return () if found is None else (found,)

    async def _read_edit(self, data: object) -> Envelope | None:
        """The edit of a message; None for additions of Discord itself, such as previews."""
        fields = as_object(data)
        if not fields.get("edited_timestamp") or "author" not in fields:
            return None
        message = read_event(data, payloads.MessageData)
        whole = await self._read_message(message)
        return None if whole is None else edit_of(message, whole)

    async def _read_reaction(self, event: GatewayEvent) -> Envelope | None:
        given = read_event(event.data, payloads.ReactionData)
        await self.own_ids()
        try:
            self._events.own.check(given.user_id)
        except OwnPost as post:
            self._events.record_own(given.message_id, post)
            return None
        channel, now = await self._find_channel(given.channel_id), self._host.env.now()
        deed = Deed(kind=_REACTIONS[event.name], of=given.message_id)
        # It has no id; a resumed session repeats it with its number.
        name = f"{given.message_id}/{given.user_id}/{event.seq}"
        return deed_of(deed, name, channel, self._host.account, now, given)

    async def _read_ends(self, ended: payloads.MessageEnds) -> list[Envelope]:
        messages = tuple(filter(None, (ended.id, *ended.ids)))
        for message in messages:
            self._events.report_loss(ended.channel_id, message, Reason.DELETED_BY_OTHERS)
        try:
            channel, now = await self._find_channel(ended.channel_id), self._host.env.now()
        except BadEvent:
            # Of a channel that is not shown no message is known.
            return []
        deeds = {f"{message}/deleted": Deed(kind=DeedKind.DELETE, of=message) for message in messages}
        return [deed_of(deed, name, channel, self._host.account, now) for name, deed in deeds.items()]

    async def _note_session(self, ready: payloads.ReadyData, position: ReadPosition) -> None:
        application = ready.user.id if ready.application is None else ready.application.id
        self._note_own(BotIds(user=ready.user.id, application=application))
        position.begin_session(ready.session_id, ready.resume_gateway_url)
        self._waiting = {guild.id for guild in ready.guilds}

    async def _read_message(
        self, message: payloads.MessageData, channel: payloads.ChannelData | None = None
    ) -> Envelope | None:
        await self.own_ids()
        try:
            check_own(message, self._events.own)
        except OwnPost as post:
            self._events.record_own(message.id, post)
            return None
        if channel is None:
            channel = await self._find_channel(message.channel_id)
        try:
            envelope = envelope_of(message, channel, self._host.account)
        except TargetError as error:
            raise BadEvent(error.facts) from None
        if envelope is None:
            self._events.record_drop(message.id, f"a note of type {message.type}", Reason.SERVICE_MESSAGE)
        await self.channels.save()
        return envelope

    async def _read_press(self, data: object) -> Envelope | None:
        """The use of a component, which Discord wants answered within three seconds."""
        if read_event(data, payloads.InteractionKind).type != payloads.COMPONENT:
            return None
        pressed = read_event(data, payloads.InteractionData)
        task = asyncio.get_running_loop().create_task(self._answer_press(pressed))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        channel = await self._find_channel(pressed.channel_id)
        return press_of(pressed, channel, self._host.account, self._host.env.now())

    async def _answer_press(self, pressed: payloads.InteractionData) -> None:
        """Answer an interaction. The person sees a failure, and the press is handled anyway."""
        answer = post("interactions", pressed.id, pressed.token, "callback", json={"type": _DEFERRED_UPDATE})
        try:
            await self._client.call(msgspec.structs.replace(answer, token=""))
        except PlatformError:
            return

    async def _find_channel(self, channel: str) -> payloads.ChannelData:
        """The channel of a message. Raises `BadEvent` for a channel hidden by Discord."""
        try:
            return await self.channels.find(channel)
        except Refused as error:
            if is_from_proxy(error):
                raise NotSent(f"channel {channel} could not be looked up: {error.facts}") from error
            raise BadEvent(f"channel {channel} is not shown: {error.facts}") from None

    async def own_ids(self) -> BotIds:
        """The ids of the account. A resumed session does not repeat the ids."""
        if self.own is None:
            user = await self._client.call(get("users", "@me"))
            application = await self._client.call(get("applications", "@me"))
            try:
                own = BotIds(user=str(user["id"]), application=str(application["id"]))
            except (TypeError, KeyError):
                raise NotSent("the answer does not say who the account is") from None
            return self._note_own(own)
        return self.own

    def _note_own(self, own: BotIds) -> BotIds:
        self.own = own
        self._events.own.learn(own.user, own.application)
        return own

    async def _read_guild(self, guild: payloads.GuildData, position: ReadPosition) -> AsyncIterator[Envelope]:
        """Note the channels of a server; for the first time in a session, read the missed messages too."""
        if guild.unavailable:
            return
        there = self._note_channels(guild)
        if guild.id not in self._waiting:
            return
        since = position.since()
        for channel in there:
            last = int(channel.last_message_id or 0)
            if since is None:
                position.note_first(last)
            elif last > since:
                async for envelope in self._read_history(channel, since, position):
                    yield envelope
        self._waiting.discard(guild.id)
        await self._end_history(position)

    def _note_channels(self, guild: payloads.GuildData) -> list[payloads.ChannelData]:
        """The channels of a server. An unreadable channel hides no other."""
        found: list[payloads.ChannelData] = []
        for data in (*guild.channels, *guild.threads):
            try:
                found.append(self.channels.note(read_event(data, payloads.ChannelData), guild.id))
            except BadEvent as error:
                self._events.record_drop(f"channel {id_of(data)}".strip(), str(error))
        return found

    async def _forget_guild(self, guild: payloads.GuildStub, position: ReadPosition) -> None:
        """Forget a server without the bot, whose history will never come. An unavailable server comes back."""
        if guild.unavailable or guild.id not in self._waiting:
            return
        self._waiting.discard(guild.id)
        await self._end_history(position)

    async def _read_direct_history(self, position: ReadPosition) -> AsyncIterator[Envelope]:
        """The missed messages of direct conversations, which no event lists."""
        since = position.since()
        for channel in self.channels.direct if since is not None else ():
            async for envelope in self._read_history(channel, since or 0, position):
                yield envelope
        await self._end_history(position)

    async def _end_history(self, position: ReadPosition) -> None:
        if not self._waiting:
            position.end_history()
            await self._save()

    async def _read_history(
        self, channel: payloads.ChannelData, since: int, position: ReadPosition
    ) -> AsyncIterator[Envelope]:
        """The messages of a channel after a message, oldest first. A channel with a hidden history has none."""
        while True:
            before = since
            page = get("channels", channel.id, "messages", after=since, limit=_PAGE)
            try:
                answer = await self._call_until_allowed(page)
            except Refused as error:
                if is_from_proxy(error):
                    raise NotSent(f"the history of channel {channel.id} could not be read: {error.facts}") from error
                return
            if not isinstance(answer, list):
                raise NotSent(f"the history of channel {channel.id} is no list")
            found = cast("list[Any]", answer)
            for data in reversed(found):
                since = max(since, number_of(data))
                try:
                    message = read_event(data, payloads.MessageData)
                    envelope = await self._read_message(message, channel)
                except BadEvent as error:
                    self._events.record_drop(f"message {id_of(data)}".strip(), str(error))
                    continue
                if envelope is not None and self._is_new(envelope, None, position):
                    yield envelope
            if len(found) < _PAGE or since == before:
                return

    async def _call_until_allowed(self, call: RestCall) -> Any:
        """Make a repeatable request, with Discord's waits: there are many such requests."""
        while True:
            try:
                return await self._client.call(call)
            except RateLimited as error:
                await anyio.sleep(min(_LONGEST_WAIT, error.retry_after or 1.0))

    async def ack(self, envelope: Envelope) -> None:
        """A message is durable: move as far as everything before is."""
        if self._position is not None and self._position.ack(envelope.message_id):
            await self._save()

    async def _save(self) -> None:
        """Store the position. The first of several waiting calls serves the others."""
        async with self._saving:
            if self._position is None or self._position.stored == self._saved:
                return
            stored = self._position.stored
            await self._host.cursors.save(_POSITION, msgspec.json.encode(stored).decode())
            self._saved = stored


T = TypeVar("T")


def read_event(data: object, kind: type[T]) -> T:
    """Data as a struct. Raises `BadEvent` with the wrong field."""
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise BadEvent(str(error)) from None
    except (UnicodeEncodeError, RecursionError) as error:
        # The name of a field has one half of a surrogate pair, or it is nested too deeply.
        raise BadEvent(type(error).__name__) from None


def id_of(data: object) -> str:
    """The id in data of any shape; empty for data without id."""
    found: object = cast("dict[str, object]", data).get("id") if isinstance(data, dict) else None
    return found[:40] if isinstance(found, str) else ""


def number_of(data: object) -> int:
    """The id as a number; 0 for data without id."""
    found = id_of(data)
    return int(found) if re.match(SNOWFLAKE, found) else 0
