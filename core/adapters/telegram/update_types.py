"""Updates of the Bot API, as far as the gateway reads any. Unknown fields are ignored, missing fields are errors."""

from __future__ import annotations

from typing import Any

import msgspec

#: what is asked for; `callback_query`: presses of buttons
ALLOWED_UPDATES = ("message", "channel_post", "callback_query")


class TelegramUser(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A person or a bot."""

    id: int
    is_bot: bool = False
    first_name: str = ""
    last_name: str = ""
    username: str = ""

    @property
    def name(self) -> str:
        """The name for people."""
        return f"{self.first_name} {self.last_name}".strip() or self.username


class TelegramChat(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A private chat, group, supergroup or channel."""

    id: int
    type: str
    title: str = ""
    is_forum: bool = False


class TelegramFile(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A file of a message; a photo has a file for each size."""

    file_id: str
    emoji: str = ""


class TelegramPlace(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A position on the map."""

    latitude: float
    longitude: float


class TelegramContact(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A phone number with a name."""

    phone_number: str
    first_name: str = ""


class TelegramReplied(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The message answered by another."""

    message_id: int


class TelegramPost(msgspec.Struct, frozen=True, kw_only=True):
    """A message. A message hidden from the bot has the date 0 and no content."""

    message_id: int
    chat: TelegramChat
    date: int = 0
    from_: TelegramUser | None = msgspec.field(default=None, name="from")
    sender_chat: TelegramChat | None = None
    message_thread_id: int | None = None
    is_topic_message: bool = False
    reply_to_message: TelegramReplied | None = None
    text: str = ""
    caption: str = ""
    photo: tuple[TelegramFile, ...] = ()
    document: TelegramFile | None = None
    animation: TelegramFile | None = None
    video: TelegramFile | None = None
    video_note: TelegramFile | None = None
    voice: TelegramFile | None = None
    audio: TelegramFile | None = None
    sticker: TelegramFile | None = None
    location: TelegramPlace | None = None
    contact: TelegramContact | None = None

    @property
    def files(self) -> tuple[TelegramFile, ...]:
        """The file, if any: of a photo the largest size. An animation is a document too."""
        found = self.animation or self.document or self.video or self.video_note or self.voice or self.audio
        found = found or self.sticker or (self.photo[-1] if self.photo else None)
        return () if found is None else (found,)


class SentPoll(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The poll in a message of the bot."""

    id: str


class SentMessage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A message of the bot, as far as needed for a receipt."""

    message_id: int
    chat: TelegramChat
    message_thread_id: int | None = None
    is_topic_message: bool = False
    poll: SentPoll | None = None


class CreatedTopic(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A new topic."""

    message_thread_id: int


class TelegramPress(msgspec.Struct, frozen=True, kw_only=True):
    """A press of a button below a message."""

    id: str
    from_: TelegramUser = msgspec.field(name="from")
    message: TelegramPost | None = None
    data: str = ""


class TelegramUpdate(msgspec.Struct, frozen=True, kw_only=True):
    """An update. At most one of the optional fields is set; none for a kind of update unknown here."""

    update_id: int
    message: TelegramPost | None = None
    channel_post: TelegramPost | None = None
    callback_query: TelegramPress | None = None


class UpdateHead(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The number of an update, whatever the other fields are."""

    update_id: int


def update_of(value: Any) -> TelegramUpdate:
    """An update from a JSON value. Raises `msgspec.ValidationError`."""
    return msgspec.convert(value, TelegramUpdate)
