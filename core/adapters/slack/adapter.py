"""The adapter of a Slack account: by Socket Mode, or by HTTP events."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, cast

import anyio
import msgspec

from trunkline.core.action_catalogue import Action
from trunkline.core.actions.requests import ActionQuery, ActionRequest
from trunkline.core.adapters.account_events import AccountEvents
from trunkline.core.adapters.json_values import as_object, as_objects, list_limit, parameters_of
from trunkline.core.adapters.media_files import MediaFiles
from trunkline.core.adapters.port import AdapterHost, WebhookAnswer, WebhookCall
from trunkline.core.adapters.slack.config import SlackConfig
from trunkline.core.adapters.slack.directory import SlackDirectory, shown_name
from trunkline.core.adapters.slack.emoji import character_of, name_of
from trunkline.core.adapters.slack.inbound.events import SlackReader, SlackSelf
from trunkline.core.adapters.slack.inbound.feed import Received, SlackFeed
from trunkline.core.adapters.slack.inbound.sockets import SocketMode
from trunkline.core.adapters.slack.inbound.webhook import SlackWebhook
from trunkline.core.adapters.slack.requests import TextForm, is_image_url, post_of, text_of
from trunkline.core.adapters.slack.web import SlackWeb
from trunkline.core.channels import LateOutcome, Resolved, rules_for
from trunkline.core.channels.account_adapter import AccountAdapter
from trunkline.core.errors import IdentityGone, NotSent, PlaceGone, PlatformError, Refused
from trunkline.core.records.bindings import Placement, PlaceState
from trunkline.core.values import Address, Capabilities, Capability, ChatKind, Envelope, Identity, Receipt, SendRequest

# The conversation ids of requests to Slack, and the places in the responses.


class SlackPlaces:
    """Translates between places and Slack's conversation ids: for a direct place the id of the user, and a ``D...``."""

    def __init__(self, web: SlackWeb, reader: SlackReader) -> None:
        self._web = web
        self._reader = reader

    def post_to(self, place: Address) -> str:
        """The conversation to post to; the user, for whom Slack opens a conversation, if none is known."""
        if place.kind is not ChatKind.DIRECT:
            return place.conversation
        return self._reader.direct_of(place.conversation) or place.conversation

    async def channel_of(self, place: Address) -> str:
        """The id of a conversation, requested if a direct conversation is unknown. Raises `PlatformError`."""
        known = self.post_to(place)
        if place.kind is not ChatKind.DIRECT or known.startswith("D"):
            return known
        found = await self._web.call("conversations.open", users=place.conversation)
        direct = as_object(found.get("channel")).get("id")
        if not isinstance(direct, str):
            raise PlaceGone("Slack opens no direct conversation")
        self._reader.learn_direct(place.conversation, direct)
        return direct

    def receipt(self, asked: Address, response: Mapping[str, Any]) -> Receipt:
        ts, channel = response.get("ts"), response.get("channel")
        message: Any = response.get("message")
        place = self._shown(asked, channel) if isinstance(channel, str) else asked
        if isinstance(message, dict):
            thread = cast("dict[str, Any]", message).get("thread_ts")
            place = msgspec.structs.replace(place, thread=thread if isinstance(thread, str) else None)
        return Receipt(provider_id=ts if isinstance(ts, str) else "", address=place)

    def _shown(self, asked: Address, channel: str) -> Address:
        if channel.upper() == asked.conversation.upper():
            return asked
        if asked.kind is ChatKind.DIRECT and channel.startswith("D"):
            user = self._reader.user_of(channel)
            if user is None:
                self._reader.learn_direct(asked.conversation, channel)
                return asked
            if user.upper() == asked.conversation.upper():
                return asked
            return msgspec.structs.replace(asked, conversation=user)
        return msgspec.structs.replace(asked, conversation=channel)


# Files: uploaded first, and posted by a last request, which alone can be ambiguous.
#
# Until ``files.completeUploadExternal`` nobody sees anything, so whatever fails before it was certainly not sent. Its
# response names the files and not the message; that is in ``files.info``, a moment later.

#: seconds between questions for the message of a file
_WAITS = (0.2, 0.5, 1.0, 2.0, 3.0)


class Uploads:
    def __init__(self, web: SlackWeb, places: SlackPlaces, files: MediaFiles) -> None:
        self._web = web
        self._places = places
        self._files = files

    async def send(self, request: SendRequest) -> Receipt:
        """Upload the files of a request, and post all with the text. Raises `PlatformError`."""
        if request.payload is not None or (request.parts is not None and request.parts.buttons):
            raise Refused("a message with uploaded files has neither buttons nor a payload on Slack")
        channel, files = await self._prepare(request)
        done = await self._web.call(
            "files.completeUploadExternal",
            files=files,
            channel_id=channel,
            thread_ts=request.address.thread,
            initial_comment=request.text or None,
        )
        first = next(_ids(done.get("files")), files[0]["id"])
        return await self._receipt(request, channel, first)

    async def _prepare(self, request: SendRequest) -> tuple[str, list[dict[str, str]]]:
        """Make every request before the last. An error here is never ambiguous."""
        try:
            channel = await self._places.channel_of(request.address)
            return channel, [await self._upload(media, request) for media in request.media]
        except PlatformError as error:
            if error.ambiguous:
                raise NotSent(f"a file was not uploaded: {error.facts}", retry_after=error.retry_after) from error
            raise

    async def _upload(self, media: str, request: SendRequest) -> dict[str, str]:
        file = await self._files.load(media)
        shown = request.parts.file_name if request.parts is not None and len(request.media) == 1 else None
        name = shown or file.name or "file"
        if not file.content:
            raise Refused(f"the file {name} is empty, and Slack takes no empty files")
        given = await self._web.call("files.getUploadURLExternal", filename=name, length=len(file.content))
        url, number = given.get("upload_url"), given.get("file_id")
        if not isinstance(url, str) or not isinstance(number, str):
            raise NotSent("Slack named no address for a file")
        await self._web.upload(url, file.content)
        return {"id": number, "title": name}

    async def _receipt(self, request: SendRequest, channel: str, file: str) -> Receipt:
        """The receipt of a posted file, with the id of the file if Slack does not show the message in time."""
        for wait in _WAITS:
            try:
                found = await self._web.call("files.info", file=file)
            except PlatformError:
                found = {}
            ts = _share(found.get("file"), channel)
            if ts is not None:
                return Receipt(provider_id=ts, address=request.address)
            await anyio.sleep(wait)
        return Receipt(provider_id=file, address=request.address)


def _ids(files: object) -> Iterator[str]:
    for file in as_objects(files):
        number = file.get("id")
        if isinstance(number, str):
            yield number


def _share(file: object, channel: str) -> str | None:
    """The id of the message with a file in a conversation."""
    shares = as_object(as_object(file).get("shares"))
    for kind in ("public", "private"):
        for share in as_objects(as_object(shares.get(kind)).get(channel)):
            ts = share.get("ts")
            if isinstance(ts, str):
                return ts
    return None


# Changes of messages: edits, deletions, reactions, pins.


#: what is in force already is no failure
_REACTED, _NOT_REACTED = frozenset({"already_reacted"}), frozenset({"no_reaction"})
_PINNED, _NOT_PINNED = frozenset({"already_pinned"}), frozenset({"not_pinned", "no_pin"})
_NO_MESSAGE = frozenset({"message_not_found"})


class SlackChanges:
    def __init__(self, web: SlackWeb, places: SlackPlaces, form: TextForm) -> None:
        self._web = web
        self._places = places
        self._form: TextForm = form

    async def act(self, request: ActionRequest, me: SlackSelf) -> Receipt:
        """Carry out a change of a message. Raises `PlatformError`."""
        if request.message_id is None:
            raise Refused(f"{request.action.value} names no message")
        channel, ts = await self._places.channel_of(request.address), request.message_id
        match request.action:
            case Action.EDIT:
                await self._web.call("chat.update", channel=channel, ts=ts, **text_of(request.text, self._form))
            case Action.DELETE:
                # A message that is gone when a deletion is repeated was deleted by the deletion in doubt.
                fine = _NO_MESSAGE if request.attempt > 1 else ()
                await self._web.call("chat.delete", channel=channel, ts=ts, fine=fine)
            case Action.REACT:
                await self._react(request, channel, ts, me)
            case Action.PIN:
                await self._web.call("pins.add", channel=channel, timestamp=ts, fine=_PINNED)
            case Action.UNPIN:
                await self._web.call("pins.remove", channel=channel, timestamp=ts, fine=_NOT_PINNED)
            case _:
                raise Refused(f"there is no {request.action.value} here")
        return Receipt(provider_id=ts, address=request.address)

    async def _react(self, request: ActionRequest, channel: str, ts: str, me: SlackSelf) -> None:
        emoji = request.text.strip()
        if not request.remove:
            await self._web.call("reactions.add", channel=channel, timestamp=ts, name=name_of(emoji), fine=_REACTED)
            return
        names = [name_of(emoji)] if emoji else await self._own_reactions(channel, ts, me)
        for name in names:
            await self._web.call("reactions.remove", channel=channel, timestamp=ts, name=name, fine=_NOT_REACTED)

    async def _own_reactions(self, channel: str, ts: str, me: SlackSelf) -> list[str]:
        found = await self._web.call("reactions.get", channel=channel, timestamp=ts, full=True)
        return [name for name, users in reactions_of(found) if me.user in users]


def reactions_of(response: dict[str, Any]) -> list[tuple[str, list[str]]]:
    """The reactions of a message: name and users."""
    reactions = as_objects(as_object(response.get("message")).get("reactions"))
    return [(str(found.get("name", "")), [str(user) for user in found.get("users") or ()]) for found in reactions]


class SlackQuestions:
    def __init__(self, web: SlackWeb, places: SlackPlaces) -> None:
        self._web = web
        self._places = places
        self._answers: dict[Action, Callable[[ActionQuery, dict[str, Any]], Awaitable[object]]] = {
            Action.REACTIONS: self._reactions,
            Action.READ: self._read,
            Action.LIST_PINS: self._pins,
            Action.MEMBER_INFO: self._member,
            Action.EMOJI_LIST: self._emoji,
            Action.DOWNLOAD_FILE: self._file,
        }

    async def ask(self, query: ActionQuery) -> object:
        """Answer a question. Raises `PlatformError`."""
        answer = self._answers.get(query.action)
        if answer is None:
            raise Refused(f"there is no {query.action.value} here")
        return await answer(query, parameters_of(query.fields))

    async def _reactions(self, query: ActionQuery, given: dict[str, Any]) -> object:
        if query.message_id is None:
            raise Refused("no message is named")
        channel = await self._places.channel_of(query.address)
        found = await self._web.call("reactions.get", channel=channel, timestamp=query.message_id, full=True)
        return [{"emoji": character_of(name), "count": len(who), "users": who} for name, who in reactions_of(found)]

    async def _read(self, query: ActionQuery, given: dict[str, Any]) -> object:
        channel, limit = await self._places.channel_of(query.address), list_limit(given)
        if query.address.thread is None:
            found = await self._web.call("conversations.history", channel=channel, limit=limit)
            return [_shown(message) for message in as_objects(found.get("messages"))]
        found = await self._web.call("conversations.replies", channel=channel, ts=query.address.thread, limit=1000)
        # Replies come oldest first, and the root in front of them.
        return [_shown(message) for message in reversed(as_objects(found.get("messages"))[-limit:])]

    async def _pins(self, query: ActionQuery, given: dict[str, Any]) -> object:
        found = await self._web.call("pins.list", channel=await self._places.channel_of(query.address))
        messages = [item.get("message") for item in as_objects(found.get("items"))]
        return [{**_shown(message), "pinned": True} for message in as_objects(messages)]

    async def _member(self, query: ActionQuery, given: dict[str, Any]) -> object:
        user = str(given.get("userId", ""))
        shown = as_object((await self._web.call("users.info", user=user)).get("user"))
        roles = [word for word in ("admin", "owner", "restricted") if shown.get(f"is_{word}") is True]
        status = "left" if shown.get("deleted") is True else "member"
        return {"userId": user, "name": shown_name(shown), "roles": roles, "status": status}

    async def _emoji(self, query: ActionQuery, given: dict[str, Any]) -> object:
        named = as_object((await self._web.call("emoji.list")).get("emoji"))
        return [{"emojiId": name, "name": name, "url": str(url)} for name, url in named.items()]

    async def _file(self, query: ActionQuery, given: dict[str, Any]) -> object:
        number = str(given.get("fileId", ""))
        shown = as_object((await self._web.call("files.info", file=number)).get("file"))
        return {"fileId": number, "name": str(shown.get("name", "")), "url": str(shown.get("url_private", ""))}


def _shown(message: dict[str, Any]) -> dict[str, Any]:
    ts = str(message.get("ts", ""))
    return {
        "messageId": ts,
        "authorId": str(message.get("user") or message.get("bot_id") or ""),
        "text": str(message.get("text", "")),
        "at": _seconds(ts),
        "pinned": bool(message.get("pinned_to")),
    }


def _seconds(ts: str) -> float:
    try:
        return float(ts)
    except ValueError:
        return 0.0


_CHANNEL = "slack"
_RULES = rules_for(_CHANNEL)
#: see docs/platforms/slack.md for why there is neither a key nor a look-up
CAPABILITIES = Capabilities(
    can=frozenset(
        {
            Capability.TEXT,
            Capability.MEDIA,
            Capability.PAYLOAD,
            Capability.THREADS,
            Capability.BUTTONS,
            Capability.MESSAGE_IDS,
        }
    ),
    actions=frozenset(_RULES.actions) - {Action.SEND, Action.BROADCAST},
    text_limit=_RULES.text_limit,
    opens_threads=True,
)


class SlackAdapter(AccountAdapter):
    """`trunkline.core.adapters.port.PlatformAdapter` of an app in one workspace."""

    placements = (Placement.CURRENT,)

    def __init__(self, config: SlackConfig, host: AdapterHost) -> None:
        super().__init__(_CHANNEL, host.account, CAPABILITIES)
        self._config = config
        self._host = host
        self._events = AccountEvents(host, _CHANNEL)
        self._web = SlackWeb(host.secret(config.bot_token), config.api_root, config.request_timeout)
        self._reader = SlackReader(host.account, self._events.own)
        self._places = SlackPlaces(self._web, self._reader)
        self._directory = SlackDirectory(self._web, host.env.steady)
        files = MediaFiles(host, config.files, config.request_timeout, hosts=config.file_hosts)
        self._uploads = Uploads(self._web, self._places, files)
        self._changes = SlackChanges(self._web, self._places, config.text)
        self._questions = SlackQuestions(self._web, self._places)
        self._feed = SlackFeed(self._reader, self._directory, self._events)
        self._sockets = self._socket_mode()
        self._hook = self._signed_events()
        self._me: SlackSelf | None = None

    def _socket_mode(self) -> SocketMode | None:
        config = self._config
        if config.app_token is None:
            return None
        token = self._host.secret(config.app_token)
        return SocketMode(self._web, token, timeout=config.request_timeout, ping_every=config.ping_every)

    def _signed_events(self) -> SlackWebhook | None:
        if self._config.signing_secret is None:
            return None
        secret = self._host.secret(self._config.signing_secret)
        return SlackWebhook(secret, self._feed, self._host, self._events, self._config.request_timeout)

    def running(self) -> AbstractAsyncContextManager[object]:
        """Hold the adapter's resources while the block runs. Opens no connection."""
        return self._web.running()

    @asynccontextmanager
    async def connect(self) -> AsyncGenerator[AsyncIterator[Envelope]]:
        me = await self._find_self(again=True)
        received: Received = asyncio.Queue()
        with self._feed.open(received, me):
            if self._sockets is None:
                self._events.record_connection("webhook")
                yield self._feed.envelopes(received)
                return
            async with self._sockets.open() as frames:
                self._events.record_connection("socket")
                yield self._feed.of_frames(frames, received)

    async def _find_self(self, *, again: bool = False) -> SlackSelf:
        """The ids of the account on Slack, requested at each connection so as to notice a revoked token."""
        if self._me is None or again:
            found = await self._web.call("auth.test")
            user, bot, team = (found.get(name) for name in ("user_id", "bot_id", "team_id"))
            if not isinstance(user, str) or not isinstance(team, str):
                raise PlatformError("Slack does not say whose token it is")
            self._me = SlackSelf(user=user, bot=bot if isinstance(bot, str) else "", team=team)
            self._events.own.learn(self._me.user, self._me.bot)
        return self._me

    def connect_reopened(self, call: Callable[[Address], None]) -> None:
        self._events.reopened = call

    def connect_late(self, call: Callable[[LateOutcome], None]) -> None:
        self._events.late = call

    async def ack(self, envelope: Envelope) -> None:
        await self._feed.ack(envelope)

    async def webhook(self, call: WebhookCall) -> WebhookAnswer:
        """Take a request of Slack: an event, an interaction, or the question whether the address is ours."""
        if self._hook is None:
            return WebhookAnswer(status=404, body=b"this account uses Socket Mode")
        return await self._hook.answer_call(call)

    async def send(self, request: SendRequest) -> Receipt:
        self.check_sendable(request)
        body = post_of(request, self._config.text)
        if any(not is_image_url(media) for media in request.media):
            return await self._uploads.send(request)
        channel, thread = self._places.post_to(request.address), request.address.thread
        response = await self._web.call("chat.postMessage", channel=channel, thread_ts=thread, **body)
        return self._places.receipt(request.address, response)

    async def open_thread(self, place: Address, message_id: str, title: str) -> Address:
        """The thread on a message. Slack opens a thread with the first message, and without a title."""
        return place if place.thread is not None else _RULES.thread_on(place, message_id)

    async def act(self, request: ActionRequest) -> Receipt:
        if request.identity is not None:
            raise IdentityGone("there are no webhooks here")
        return await self._changes.act(request, await self._find_self())

    async def ask(self, query: ActionQuery) -> object:
        return await self._questions.ask(query)

    async def resolve_target(self, text: str) -> Resolved | None:
        """Look a name or an id up in the workspace."""
        return await self._directory.resolve(text)

    async def open_child(self, parent: Address, title: str, key: str) -> Address:
        """Never called: a thread of Slack begins on a message."""
        raise Refused("threads cannot be opened here")

    async def inspect(self, place: Address) -> PlaceState:
        return await inspect_place(self._web, await self._places.channel_of(place), place.thread)

    async def reopen(self, place: Address) -> None:
        """Never possible: only people unarchive channels."""
        raise PlaceGone("nothing can be reopened here")

    async def identity(self, place: Address, name: str) -> Identity | None:
        """None: Slack has no webhooks for threads."""
        return None


_GONE = frozenset({"channel_not_found", "not_in_channel"})
_NO_THREAD = frozenset({"thread_not_found", "message_not_found"})


async def inspect_place(web: SlackWeb, channel: str, thread: str | None) -> PlaceState:
    """The state of a conversation, or of a thread inside. Raises `PlatformError`."""
    response = await web.call("conversations.info", channel=channel, fine=_GONE)
    state = state_of(response)
    if state is PlaceState.OPEN and thread is not None:
        replies = await web.call("conversations.replies", channel=channel, ts=thread, limit=1, fine=_NO_THREAD)
        return PlaceState.OPEN if replies.get("ok") is True else PlaceState.GONE
    return state


def state_of(response: dict[str, Any]) -> PlaceState:
    """The state in ``conversations.info``. A channel without the app counts as gone."""
    found: Any = response.get("channel")
    if response.get("ok") is not True or not isinstance(found, dict):
        return PlaceState.GONE
    channel = cast("dict[str, Any]", found)
    if channel.get("is_archived") is True:
        return PlaceState.ARCHIVED
    outside = channel.get("is_im") is not True and channel.get("is_member") is False
    return PlaceState.GONE if outside else PlaceState.OPEN
