"""Threads and webhooks: `trunkline.core.channels.bindings.discord_threads.DiscordRest` over the real API."""

from collections.abc import Awaitable, Callable, Sequence
from mimetypes import MimeTypes
from typing import Any, TypeVar

import msgspec

from trunkline.core.adapters.discord.calls import RestCall, UploadFile, get, patch, post
from trunkline.core.adapters.discord.errors import unsent
from trunkline.core.adapters.discord.payloads import DM, THREADS, ChannelData, UserData, WebhookData
from trunkline.core.adapters.media_files import MediaFiles
from trunkline.core.adapters.port import Cursors
from trunkline.core.channels.bindings.discord_threads import DiscordChannel, Webhook
from trunkline.core.errors import Ambiguous, PlatformError, Refused
from trunkline.core.message_parts import MessageParts
from trunkline.core.values import Address, ChatKind

# The channels known to an account. A message names only a channel; kind, parent and server are looked up here.

_DIRECT = "direct"
#: prefix of the place of an action on a server (`trunkline.core.message_tool.places`)
SERVER = "@server/"
#: how many direct conversations are read again after an interruption
_MOST = 1000

Request = Callable[[RestCall], Awaitable[Any]]


class KnownChannels:
    """The channels of an account, from events or from requests."""

    def __init__(self, request: Request, cursors: Cursors) -> None:
        self._request = request
        self._cursors = cursors
        self._known: dict[str, ChannelData] = {}
        #: user -> direct conversation with them; the newest last
        self._direct: dict[str, str] = {}
        self._saved: dict[str, str] = {}

    async def load(self) -> None:
        """Read the stored direct conversations. Anything else than such a list counts as none."""
        text = await self._cursors.load(_DIRECT)
        if text is None:
            return
        try:
            self._direct = msgspec.json.decode(text, type=dict[str, str])
        except msgspec.MsgspecError:
            self._direct = {}
        self._saved = dict(self._direct)

    @property
    def direct(self) -> tuple[ChannelData, ...]:
        pairs = self._direct.items()
        return tuple(ChannelData(id=channel, type=DM, recipients=(UserData(id=user),)) for user, channel in pairs)

    def note(self, channel: ChannelData, guild: str | None = None) -> ChannelData:
        found = channel if guild is None or channel.guild_id else msgspec.structs.replace(channel, guild_id=guild)
        self._known[channel.id] = found
        if channel.type == DM and channel.recipients:
            self._direct[channel.recipients[0].id] = channel.id
        return found

    def forget(self, channel: str) -> None:
        """A channel was deleted."""
        self._known.pop(channel, None)

    def forget_direct(self, user: str) -> None:
        """Discord does not know a direct conversation any more."""
        self._direct.pop(user, None)

    async def find(self, channel: str) -> ChannelData:
        """A channel, requested from Discord unless known. Raises `PlatformError`."""
        known = self._known.get(channel)
        return known or self.note(read(await self._request(get("channels", channel)), ChannelData))

    async def id_of(self, place: Address) -> str:
        """The id of the channel of a place; empty for a server. Raises `PlatformError`, but never `Ambiguous`."""
        if place.kind is ChatKind.DIRECT:
            return await self.with_user(place.conversation)
        return "" if place.conversation.startswith(SERVER) else place.conversation

    async def with_user(self, user: str) -> str:
        """The direct conversation with a user, opened if necessary. Raises `PlatformError`, but never `Ambiguous`.

        Discord returns the same conversation however often it is opened.
        """
        known = self._direct.get(user)
        if known is not None:
            return known
        try:
            answer = await self._request(post("users", "@me", "channels", json={"recipient_id": user}))
            opened = read(answer, ChannelData)
        except PlatformError as error:
            raise unsent(error) from error
        self._direct[user] = opened.id
        self._known[opened.id] = opened
        await self.save()
        return opened.id

    async def save(self) -> None:
        """Store the direct conversations, if there are new ones."""
        if self._direct == self._saved:
            return
        self._direct = dict(list(self._direct.items())[-_MOST:])
        saved = dict(self._direct)
        await self._cursors.save(_DIRECT, msgspec.json.encode(saved).decode())
        self._saved = saved


# The files of a message, with names and types for Discord.

_UNKNOWN = "application/octet-stream"
_TYPES = MimeTypes()


async def load_files(
    files: MediaFiles, media: Sequence[str], parts: MessageParts | None = None
) -> tuple[UploadFile, ...]:
    """The files of a message, the first with the name and type in the message. Raises as `MediaFiles`."""
    found: list[UploadFile] = []
    for source in media:
        given = parts if parts is not None and not found else MessageParts()
        file = await files.load(source)
        name = given.file_name or file.name or "attachment"
        kind = given.mime_type or file.media_type or _TYPES.guess_type(name)[0] or _UNKNOWN
        found.append(UploadFile(name=name, type=kind, content=file.content))
    return tuple(found)


T = TypeVar("T")
#: type of a thread that everybody in the channel can see
PUBLIC_THREAD = 11
#: archived threads of a page, and pages that are read
_PAGE, _PAGES = 100, 20


class ThreadList(msgspec.Struct, frozen=True, kw_only=True):
    threads: tuple[ChannelData, ...] = ()
    has_more: bool = False


class ArchiveTime(msgspec.Struct, frozen=True, kw_only=True):
    archive_timestamp: str = ""


class ArchivedThread(msgspec.Struct, frozen=True, kw_only=True):
    """The position of the next page of archived threads."""

    thread_metadata: ArchiveTime = ArchiveTime()


class LiveDiscordRest:
    """Requests of an account. Each call has a token."""

    def __init__(self, request: Request) -> None:
        self._request = request

    async def create_thread(self, token: str, parent: str, name: str, reason: str) -> str:
        call = post("channels", parent, "threads", json={"name": name, "type": PUBLIC_THREAD}, reason=reason)
        return read(await self._ask(token, call), ChannelData).id

    async def list_threads(self, token: str, parent: str) -> Sequence[DiscordChannel]:
        """The threads of a channel: active ones, which Discord lists by server, and archived ones."""
        guild = read(await self._ask(token, get("channels", parent)), ChannelData).guild_id
        if guild is None:
            return []
        active = read(await self._ask(token, get("guilds", guild, "threads", "active")), ThreadList)
        found = [_shown(thread) for thread in active.threads if thread.parent_id == parent]
        before: str | None = None
        for _ in range(_PAGES):
            page = get("channels", parent, "threads", "archived", "public", limit=_PAGE, before=before)
            answer = await self._ask(token, page)
            archived = read(answer, ThreadList)
            found += [_shown(thread) for thread in archived.threads]
            if not archived.has_more or not archived.threads:
                break
            before = read(answer["threads"][-1], ArchivedThread).thread_metadata.archive_timestamp or None
        return found

    async def channel(self, token: str, channel: str) -> DiscordChannel:
        return _shown(read(await self._ask(token, get("channels", channel)), ChannelData))

    async def unarchive(self, token: str, thread: str) -> None:
        await self._ask(token, patch("channels", thread, json={"archived": False}))

    async def create_webhook(self, token: str, channel: str, name: str) -> Webhook:
        return _webhook(
            read(await self._ask(token, post("channels", channel, "webhooks", json={"name": name})), WebhookData)
        )

    async def list_webhooks(self, token: str, channel: str) -> Sequence[Webhook]:
        answer = await self._ask(token, get("channels", channel, "webhooks"))
        return [_webhook(webhook) for webhook in read(answer, list[WebhookData])]

    async def _ask(self, token: str, call: RestCall) -> Any:
        if not token:
            raise Refused("the account has no token")
        return await self._request(msgspec.structs.replace(call, token=token))


def read(answer: object, kind: type[T]) -> T:
    """An answer as a struct. Raises `Ambiguous` for an answer of another form, which proves nothing."""
    try:
        return msgspec.convert(answer, kind)
    except msgspec.ValidationError as error:
        raise Ambiguous(f"the answer cannot be read: {error}") from None


def _shown(channel: ChannelData) -> DiscordChannel:
    state = channel.thread_metadata
    return DiscordChannel(
        id=channel.id,
        name=channel.name or "",
        thread=channel.type in THREADS,
        parent=channel.parent_id if channel.type in THREADS else None,
        archived=state is not None and state.archived,
        locked=state is not None and state.locked,
    )


def _webhook(found: WebhookData) -> Webhook:
    return Webhook(id=found.id, name=found.name or "", secret=found.token)
