"""Carries out changes, answers queries, and looks names up, for an account."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

from trunkline.core.action_names import Action
from trunkline.core.actions.requests import ActionQuery, ActionRequest
from trunkline.core.adapters.discord.actions.changes import WantedChange, call_of, presence_of
from trunkline.core.adapters.discord.actions.questions import AskedQuestion, answer_to
from trunkline.core.adapters.discord.calls import RestCall, at, get
from trunkline.core.adapters.discord.client import OneRequestClient
from trunkline.core.adapters.discord.errors import THREAD_EXISTS, DiscordRefused
from trunkline.core.adapters.discord.files import load_files
from trunkline.core.adapters.discord.payloads import ChannelData, MemberData
from trunkline.core.adapters.discord.receiving.stream import DiscordStream
from trunkline.core.adapters.discord.rest import read
from trunkline.core.adapters.json_values import as_object, as_objects, parameters_of
from trunkline.core.adapters.media_files import MediaFiles
from trunkline.core.adapters.port import AdapterHost
from trunkline.core.channels.adapter import Resolved
from trunkline.core.channels.bindings.discord_threads import Webhook
from trunkline.core.channels.directory import DirectoryEntry, find_in_directory
from trunkline.core.errors import NotSent, PlaceGone, Refused
from trunkline.core.values import Address, ChatKind, Identity, Receipt

#: changes that take something away, and the codes that say that it is gone
_TAKES_AWAY = {
    Action.DELETE: frozenset({10008}),
    Action.KICK: frozenset({10007}),
    Action.CATEGORY_DELETE: frozenset({10003}),
    Action.CHANNEL_DELETE: frozenset({10003}),
}
_UPLOADS = frozenset({Action.EMOJI_UPLOAD, Action.STICKER_UPLOAD})
_FILE_PARAMS = ("media", "path", "filePath")
#: types of channels that texts can be sent to
_WRITABLE = frozenset({0, 2, 5, 13})
#: members that a search by name returns
_FOUND = 20


class SendsByWebhook(Protocol):
    """Finds the webhook of an identity."""

    async def webhook_in(self, place: Address, identity: Identity) -> tuple[Webhook, str | None]:
        """The webhook with the secret, and the thread to name in the request. Raises `PlatformError`."""
        ...


class ActionDesk:
    """Changes and queries of an account."""

    def __init__(
        self,
        host: AdapterHost,
        client: OneRequestClient,
        stream: DiscordStream,
        webhooks: SendsByWebhook,
        mentions: tuple[str, ...],
        files: MediaFiles,
    ) -> None:
        self._host = host
        self._client = client
        self._stream = stream
        self._webhooks = webhooks
        self._mentions = mentions
        self._files = files

    # ------------------------------------------------------------ changes

    async def act(self, request: ActionRequest) -> Receipt:
        """Carry out a change. A repeated deletion succeeds when the object is gone already."""
        fields = parameters_of(request.fields)
        if request.action is Action.SET_PRESENCE:
            return await self._show_presence(request, fields)
        change = WantedChange(
            request=request,
            fields=fields,
            channel=await self._channel_of(request.address),
            now=self._host.env.now(),
            mentions=self._mentions,
            file=await self._file(request.action, fields),
        )
        call = await self._as_author(request, call_of(change))
        try:
            answer = await self._client.call(call)
        except (DiscordRefused, PlaceGone) as error:
            return self._after(request, error)
        return self._receipt(request, answer)

    def _after(self, request: ActionRequest, error: DiscordRefused | PlaceGone) -> Receipt:
        """The receipt of a change made by an earlier attempt; raises the error for any other change."""
        code = error.code if isinstance(error, DiscordRefused) else 10003
        if request.attempt > 1 and code in _TAKES_AWAY.get(request.action, frozenset()):
            return Receipt(provider_id=request.message_id or request.address.conversation, address=request.address)
        if request.action is Action.THREAD_CREATE and code == THREAD_EXISTS and request.message_id is not None:
            return self._thread(request, request.message_id)
        raise error

    async def _as_author(self, request: ActionRequest, call: RestCall) -> RestCall:
        """A change of a message of a webhook is made by the webhook."""
        if request.identity is None or request.action not in (Action.EDIT, Action.DELETE):
            return call
        place = request.address
        webhook, thread = await self._webhooks.webhook_in(place, request.identity)
        path = at("webhooks", webhook.id, webhook.secret or "", "messages", request.message_id or "")
        params = {} if thread is None else {"thread_id": thread}
        return msgspec.structs.replace(call, path=path, params=params, token="")

    async def _show_presence(self, request: ActionRequest, fields: Mapping[str, Any]) -> Receipt:
        payload = presence_of(fields)
        socket = self._stream.socket
        if socket is None:
            raise NotSent("there is no gateway connection")
        await socket.say(payload)
        own = await self._stream.own_ids()
        return Receipt(provider_id=own.user, address=request.address)

    async def _file(self, action: Action, fields: Mapping[str, Any]) -> Any:
        if action not in _UPLOADS:
            return None
        buffer, kind = str(fields.get("buffer") or ""), str(fields.get("contentType") or fields.get("mimeType") or "")
        source = next((str(fields[name]) for name in _FILE_PARAMS if fields.get(name)), "")
        if buffer:
            source = buffer if buffer.startswith("data:") else f"data:{kind};base64,{buffer}"
        if not source:
            raise Refused("media is missing")
        [file] = await load_files(self._files, (source,))
        return file

    def _receipt(self, request: ActionRequest, answer: Any) -> Receipt:
        """The receipt of what was changed or created: a message, a thread, or an object with an id."""
        made = as_object(answer).get("id")
        if request.action is Action.THREAD_CREATE:
            return self._thread(request, read(answer, ChannelData).id)
        if request.action is Action.CHANNEL_CREATE:
            created = read(answer, ChannelData).id
            place = Address(channel="discord", account=self._host.account, kind=ChatKind.CHANNEL, conversation=created)
            return Receipt(provider_id=created, address=place)
        fields = parameters_of(request.fields)
        otherwise = request.message_id or fields.get("userId") or fields.get("categoryId")
        found = made if isinstance(made, str) else str(otherwise or request.address.conversation)
        return Receipt(provider_id=found, address=request.address)

    def _thread(self, request: ActionRequest, thread: str) -> Receipt:
        room = request.address.parent or request.address.conversation
        place = Address(
            channel="discord", account=self._host.account, kind=ChatKind.CHANNEL, conversation=thread, parent=room
        )
        return Receipt(provider_id=thread, address=place)

    # ------------------------------------------------------------ questions

    async def ask(self, query: ActionQuery) -> object:
        """Answer a question."""
        place = query.address.conversation

        async def bot() -> str:
            return (await self._stream.own_ids()).user

        question = AskedQuestion(
            request=self._client.call,
            fields=parameters_of(query.fields),
            channel=await self._channel_of(query.address),
            message_id=query.message_id,
            server=place.removeprefix("@server/") if place.startswith("@server/") else "",
            bot=bot,
        )
        return await answer_to(query.action, question)

    async def _channel_of(self, place: Address) -> str:
        if place.conversation.startswith("@"):
            return ""
        if place.kind is ChatKind.DIRECT:
            return await self._stream.channels.with_user(place.conversation)
        return place.conversation

    # ------------------------------------------------------------ the directory

    async def resolve(self, text: str) -> Resolved | None:
        """Look a name up among channels for messages, and members whose name begins so."""
        name = text.strip().lstrip("#@")
        entries: list[DirectoryEntry] = []
        for guild in as_objects(await self._client.call(get("users", "@me", "guilds"))):
            number = str(guild.get("id"))
            entries += _channels(await self._client.call(get("guilds", number, "channels")))
            if name and not text.strip().startswith("#"):
                wanted = name.partition(":")[2] or name
                search = get("guilds", number, "members", "search", query=wanted[:100], limit=_FOUND)
                entries += _members(await self._client.call(search))
        return find_in_directory(text, entries, "discord")


def _channels(answer: object) -> list[DirectoryEntry]:
    found = [read(channel, ChannelData) for channel in as_objects(answer)]
    return [
        DirectoryEntry(target=f"channel:{channel.id}", kind=ChatKind.CHANNEL, name=channel.name or "")
        for channel in found
        if channel.type in _WRITABLE
    ]


def _members(answer: object) -> list[DirectoryEntry]:
    found = [(member, member.user) for member in (read(member, MemberData) for member in as_objects(answer))]
    return [
        DirectoryEntry(
            target=f"user:{user.id}",
            kind=ChatKind.DIRECT,
            name=member.nick or user.global_name or user.username,
            handle=user.username,
        )
        for member, user in found
        if user is not None and not user.bot
    ]
