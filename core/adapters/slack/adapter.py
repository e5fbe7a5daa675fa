"""The adapter of a Slack account: by Socket Mode, or by HTTP events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, cast

from trunkline.core.action_names import Action
from trunkline.core.actions.requests import ActionQuery, ActionRequest
from trunkline.core.adapters.account_adapter import AccountAdapter
from trunkline.core.adapters.account_events import AccountEvents
from trunkline.core.adapters.media_files import MediaFiles
from trunkline.core.adapters.port import AdapterHost, WebhookAnswer, WebhookCall
from trunkline.core.adapters.slack.changes import SlackChanges
from trunkline.core.adapters.slack.config import SlackConfig
from trunkline.core.adapters.slack.directory import SlackDirectory
from trunkline.core.adapters.slack.inbound.events import SlackSelf
from trunkline.core.adapters.slack.inbound.feed import Received, SlackFeed
from trunkline.core.adapters.slack.inbound.reader import SlackReader
from trunkline.core.adapters.slack.inbound.sockets import SocketMode
from trunkline.core.adapters.slack.inbound.webhook import SlackWebhook
from trunkline.core.adapters.slack.places import SlackPlaces
from trunkline.core.adapters.slack.questions import SlackQuestions
from trunkline.core.adapters.slack.requests import is_image_url, post_of
from trunkline.core.adapters.slack.uploads import Uploads
from trunkline.core.adapters.slack.web import SlackWeb
from trunkline.core.channels import Resolved, rules_for
from trunkline.core.errors import IdentityGone, PlaceGone, PlatformError, Refused
from trunkline.core.records.bindings import Placement, PlaceState
from trunkline.core.values import (
    Address,
    Capabilities,
    Capability,
    Envelope,
    Identity,
    Receipt,
    SendRequest,
)

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
        self._reader = SlackReader(host.account)
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

    # ------------------------------------------------------------ inbound

    @asynccontextmanager
    async def connect(self) -> AsyncGenerator[AsyncIterator[Envelope]]:
        """Receive updates, by sockets or by webhooks."""
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
        return self._me

    async def ack(self, envelope: Envelope) -> None:
        await self._feed.ack(envelope)

    async def webhook(self, call: WebhookCall) -> WebhookAnswer:
        """Take a request of Slack: an event, an interaction, or the question whether the address is ours."""
        if self._hook is None:
            return WebhookAnswer(status=404, body=b"this account uses Socket Mode")
        return await self._hook.answer_call(call)

    # ------------------------------------------------------------ outbound

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
        """Carry out a change of a message."""
        if request.identity is not None:
            raise IdentityGone("there are no webhooks here")
        return await self._changes.act(request, await self._find_self())

    async def ask(self, query: ActionQuery) -> object:
        """Answer a question."""
        return await self._questions.ask(query)

    # ------------------------------------------------------------ names and places

    async def resolve_target(self, text: str) -> Resolved | None:
        """Look a name or an id up in the workspace."""
        return await self._directory.resolve(text)

    async def open_child(self, parent: Address, title: str, key: str) -> Address:
        """Never called: a thread of Slack begins on a message."""
        raise Refused("threads cannot be opened here")

    async def inspect(self, place: Address) -> PlaceState:
        """Whether a conversation takes messages, and whether the thread exists."""
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
