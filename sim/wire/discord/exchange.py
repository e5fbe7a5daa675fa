"""A request to the REST API: its account, its place, and its response."""

import json
from collections.abc import Callable
from typing import Annotated, Any, cast

import msgspec
from aiohttp import web

from trunkline.core.action_catalogue import Action
from trunkline.core.actions.requests import ActionQuery
from trunkline.core.message_parts import Button, MessageParts
from trunkline.core.values import Address, ChatKind, Identity, Poll, Receipt
from trunkline.sim.platforms.actions.message_board import BoardMessage
from trunkline.sim.platforms.channels.discord import PART_LIMITS
from trunkline.sim.platforms.rooms import Room
from trunkline.sim.wire.discord.errors import DiscordSays, nothing
from trunkline.sim.wire.discord.hosts import DiscordHost
from trunkline.sim.wire.discord.view import DiscordView
from trunkline.sim.wire.json_values import Json, mapping, object_in, sequence, value_in

# The bodies of requests: strictly read, and translated to what the platform takes.

_SILENT = 1 << 12
_ROW, _BUTTON, _LINK = 1, 2, 5
_IN_A_ROW, _ROWS = 5, 5
_LABEL, _CUSTOM_ID = PART_LIMITS.button_text or 0, PART_LIMITS.button_value or 0

Nonce = Annotated[str, msgspec.Meta(max_length=25)] | int
#: an id; Discord takes it as a text and as a number, and discord.py sends those of references as numbers
Snowflake = str | int


class ReferenceBody(msgspec.Struct, frozen=True, kw_only=True):
    message_id: Snowflake
    channel_id: Snowflake | None = None
    fail_if_not_exists: bool = True


class TextBody(msgspec.Struct, frozen=True, kw_only=True):
    text: str = ""


class PollAnswerBody(msgspec.Struct, frozen=True, kw_only=True):
    poll_media: TextBody


class PollBody(msgspec.Struct, frozen=True, kw_only=True):
    question: TextBody
    answers: Annotated[list[PollAnswerBody], msgspec.Meta(min_length=1)]
    duration: Annotated[int, msgspec.Meta(ge=1, le=768)] | None = None
    allow_multiselect: bool = False
    layout_type: int = 1


class AttachmentBody(msgspec.Struct, frozen=True, kw_only=True):
    id: int | str
    filename: str = ""


class NewMessageBody(msgspec.Struct, frozen=True, kw_only=True):
    """A new message. Fields that are not here are a payload of their own."""

    content: str | None = None
    nonce: Nonce | None = None
    enforce_nonce: bool = False
    tts: bool = False
    flags: int = 0
    embeds: Annotated[list[Json], msgspec.Meta(max_length=10)] = []
    components: Annotated[list[Json], msgspec.Meta(max_length=_ROWS)] = []
    message_reference: ReferenceBody | None = None
    sticker_ids: Annotated[list[Snowflake], msgspec.Meta(max_length=3)] = []
    poll: PollBody | None = None
    attachments: list[AttachmentBody] = []
    allowed_mentions: Json | None = None
    username: Annotated[str, msgspec.Meta(min_length=1, max_length=80)] | None = None
    avatar_url: str | None = None


_KNOWN = frozenset(NewMessageBody.__struct_fields__)


class ReadMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message in the form of the platform."""

    text: str
    #: the nonce, if it is to be enforced
    key: str | None
    parts: dict[str, Any]
    #: whom it is shown to be from, of a webhook
    username: str | None


async def read_json(request: web.Request) -> Json:
    """The JSON of a request, also of a multipart one. Raises `DiscordSays`."""
    if request.content_type == "multipart/form-data":
        form = await request.post()
        text = form.get("payload_json")
        if isinstance(text, web.FileField):
            text = text.file.read().decode("utf-8", "replace")
        plain = {name: value for name, value in form.items() if isinstance(value, str)}
        body: Any = plain if text is None else _value(text if isinstance(text, str) else bytes(text))
        names = [
            part.filename for name, part in form.items() if isinstance(part, web.FileField) and name != "payload_json"
        ]
        if isinstance(body, dict):
            return mapping(cast("object", body)) | {"_files": names}
        raise DiscordSays(50109)
    whole = await request.read()
    if not whole:
        return {}
    if request.content_type != "application/json":
        raise DiscordSays(50035, detail='Expected "Content-Type" header to be application/json or multipart/form-data')
    try:
        return object_in(whole)
    except ValueError:
        raise DiscordSays(50109) from None


def convert(body: object, kind: type[Any]) -> Any:
    """A body as a struct. Raises `DiscordSays` with the wrong field."""
    try:
        return msgspec.convert(body, kind)
    except msgspec.ValidationError as error:
        words = str(error)
        where = words.partition(" - at `$")[2].strip("`").strip(".") or "_"
        raise DiscordSays(50035, field=where.replace("[...]", ".0"), detail=words.partition(" - at")[0]) from None


def message_of(body: Json) -> ReadMessage:
    """A new message. Raises `DiscordSays`."""
    names: list[str] = body.get("_files", [])
    found: NewMessageBody = convert({key: value for key, value in body.items() if key in _KNOWN}, NewMessageBody)
    rest = {key: value for key, value in body.items() if key not in _KNOWN and key != "_files"}
    embed, other_embeds = _embed(found.embeds)
    buttons, components = _components(found.components)
    if other_embeds:
        rest["embeds"] = found.embeds
    there = found.embeds or found.components or found.sticker_ids or found.poll or names
    if not (found.content or "").strip() and not there:
        raise DiscordSays(50006)
    parts: dict[str, Any] = {"media": tuple(names)}
    shown = MessageParts(
        silent=bool(found.flags & _SILENT),
        buttons=buttons,
        components=components,
        embed=embed,
        sticker=str(found.sticker_ids[0]) if found.sticker_ids else None,
    )
    if shown != MessageParts():
        parts["parts"] = shown
    if found.message_reference is not None:
        parts["reply_to"] = str(found.message_reference.message_id)
    if found.poll is not None:
        parts["poll"] = _poll(found.poll)
    if rest:
        parts["payload"] = json.dumps(rest)
    key = str(found.nonce) if found.enforce_nonce and found.nonce is not None else None
    return ReadMessage(text=found.content or "", key=key, parts=parts, username=found.username)


def _poll(body: PollBody) -> Poll:
    options = tuple(option.poll_media.text for option in body.answers)
    return Poll(
        question=body.question.text,
        options=options,
        max_selections=len(options) if body.allow_multiselect else 1,
        duration_hours=body.duration,
    )


def _embed(embeds: list[Json]) -> tuple[str | None, bool]:
    """The description of the one embed that has nothing else, and whether there are others."""
    if len(embeds) == 1 and set(embeds[0]) == {"description"} and isinstance(embeds[0]["description"], str):
        return embeds[0]["description"], False
    return None, bool(embeds)


def _components(rows: list[Json]) -> tuple[tuple[tuple[Button, ...], ...], str | None]:
    found: list[tuple[Button, ...]] = []
    for number, row in enumerate(rows):
        inner = row.get("components")
        inside = sequence(inner)
        if row.get("type") != _ROW or not 1 <= len(inside) <= _IN_A_ROW:
            raise DiscordSays(50035, field=f"components.{number}", detail="Must be a row of 1 to 5 components")
        buttons = [
            _button(mapping(component), f"components.{number}.components.{at}") for at, component in enumerate(inside)
        ]
        found.append(tuple(button for button in buttons if button is not None))
        if None in buttons:
            return (), json.dumps(rows)
    return tuple(found), None


def _button(data: Json, where: str) -> Button | None:
    """A plain button; None for any other component."""
    if not isinstance(data.get("type"), int):
        raise DiscordSays(50035, field=where, detail="Must be a component")
    if data["type"] != _BUTTON:
        return None
    label, value, url = data.get("label", ""), data.get("custom_id"), data.get("url")
    link = data.get("style") == _LINK
    if len(str(label)) > _LABEL or (link and not isinstance(url, str)):
        raise DiscordSays(50035, field=f"{where}.label")
    if not link and (not isinstance(value, str) or not 1 <= len(value) <= _CUSTOM_ID):
        raise DiscordSays(50035, field=f"{where}.custom_id", detail="Must be between 1 and 100 in length.")
    if set(data) - {"type", "style", "label", "custom_id", "url"} or data.get("style") not in (2, _LINK):
        return None
    return Button(text=str(label), value="" if link or value == label else str(value), url=url if link else None)


def _value(text: str | bytes) -> Any:
    try:
        return value_in(text)
    except ValueError:
        raise DiscordSays(50109) from None


class RestExchange(msgspec.Struct, frozen=True, kw_only=True):
    server: DiscordHost
    request: web.Request
    account: str
    number: int

    @property
    def view(self) -> DiscordView:
        return self.server.view

    def path_part(self, part: str) -> str:
        return self.request.match_info[part]

    async def body(self) -> Json:
        return await read_json(self.request)

    def place(self, channel: str | None = None) -> Address:
        """The place of a channel id; of an unknown one too, which the platform refuses."""
        wanted = channel or self.path_part("channel")
        room = self.view.room(self.account, wanted)
        if room is not None:
            return room.address(self.account)
        return Address(channel=self.server.channel, account=self.account, kind=ChatKind.CHANNEL, conversation=wanted)

    def room(self, channel: str | None = None) -> Room:
        """A conversation of the account. Raises `DiscordSays`."""
        room = self.view.room(self.account, channel or self.path_part("channel"))
        if room is None or room.closed == "deleted" or self.account in room.left:
            raise DiscordSays(10003)
        return room

    def message(self, room: Room | None = None) -> BoardMessage:
        """A message, unless deleted. Raises `DiscordSays`."""
        found = self.server.platform.board.get(room or self.room(), self.path_part("message"))
        if found is None or found.deleted:
            raise DiscordSays(10008)
        return found

    def in_server(self) -> Address:
        """The place of a change of the server. Raises `DiscordSays` for another server."""
        if self.path_part("guild") != self.view.guild_id:
            raise DiscordSays(10004)
        return self.on_server()

    def on_server(self) -> Address:
        """The place of a change of the one server."""
        return Address(channel=self.server.channel, account=self.account, kind=ChatKind.CHANNEL, conversation="@server")

    async def act(
        self,
        action: Action,
        place: Address,
        answer: Callable[[Receipt], web.StreamResponse] | None = None,
        *,
        message: str | None = None,
        fields: Json | None = None,
        identity: Identity | None = None,
        **parts: Any,
    ) -> web.StreamResponse:
        """Have a change carried out. `answer`: by default a success without content."""
        text = None if fields is None else json.dumps(fields)
        change = self.server.action_request(action, place, message, fields=text, identity=identity, **parts)
        return await self.server.act(self.request, change, self.number, answer or (lambda _: nothing()))

    async def ask(
        self,
        action: Action,
        place: Address,
        answer: Callable[[Any], web.StreamResponse],
        *,
        message: str | None = None,
        fields: Json | None = None,
    ) -> web.StreamResponse:
        text = None if fields is None else json.dumps(fields)
        query = ActionQuery(action=action, address=place, message_id=message, fields=text)
        return await self.server.ask(self.request, query, self.number, answer)

    async def call(
        self,
        what: tuple[str, ...],
        place: Address,
        do: Callable[[], Any],
        answer: Callable[[Any], web.StreamResponse],
        *,
        opens: bool = False,
    ) -> web.StreamResponse:
        future = self.server.platform.calls.call(what, place, self.number, do, opens=opens)
        return await self.server.respond(self.request, future, answer)
