"""Updates of the Bot API, as far as the gateway reads any. Unknown fields are ignored, missing fields are errors."""

from typing import Any

import msgspec

#: what is asked for; `callback_query`: presses of buttons
_DEEDS = ("edited_message", "edited_channel_post", "message_reaction")
ALLOWED_UPDATES = ("message", "channel_post", "callback_query", *_DEEDS)


class TelegramUser(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    id: int
    is_bot: bool = False
    first_name: str = ""
    last_name: str = ""
    username: str = ""

    @property
    def name(self) -> str:
        return f"{self.first_name} {self.last_name}".strip() or self.username


class TelegramChat(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A private chat, group, supergroup or channel."""

    id: int
    type: str
    title: str = ""
    is_forum: bool = False
    #: the direct messages of a channel, with a topic for each person
    is_direct_messages: bool = False


def post_name(chat: int | str, message: int | str) -> str:
    """The name of a post, under which a copy of it in another chat is recognised."""
    return f"{chat}/{message}"


class DirectTopic(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The topic of a person in the direct messages of a channel."""

    topic_id: int


class TelegramOrigin(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The origin of a forwarded message; only posts of channels have an id."""

    chat: TelegramChat | None = None
    message_id: int = 0

    @property
    def post(self) -> str | None:
        return None if self.chat is None else post_name(self.chat.id, self.message_id)


class TelegramReplied(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    message_id: int


class TelegramPost(msgspec.Struct, frozen=True, kw_only=True):
    """A message without its content. A message hidden from the bot has the date 0."""

    message_id: int
    chat: TelegramChat
    date: int = 0
    from_: TelegramUser | None = msgspec.field(default=None, name="from")
    sender_chat: TelegramChat | None = None
    message_thread_id: int | None = None
    is_topic_message: bool = False
    direct_messages_topic: DirectTopic | None = None
    #: the chat is one of a person who has connected the bot to their account
    business_connection_id: str = ""
    #: a post of a channel, which Telegram has brought into the group for its discussion
    is_automatic_forward: bool = False
    forward_origin: TelegramOrigin | None = None
    reply_to_message: TelegramReplied | None = None
    #: the album that the file belongs to
    media_group_id: str = ""


class SentPoll(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    id: str


class SentMessage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    message_id: int
    chat: TelegramChat
    message_thread_id: int | None = None
    is_topic_message: bool = False
    direct_messages_topic: DirectTopic | None = None
    poll: SentPoll | None = None


class CreatedTopic(msgspec.Struct, frozen=True, kw_only=True, gc=False):
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
    edited_message: TelegramPost | None = None
    edited_channel_post: TelegramPost | None = None
    message_reaction: dict[str, Any] | None = None


class UpdateHead(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The number of an update, whatever the other fields are."""

    update_id: int


def update_of(value: Any) -> TelegramUpdate:
    """An update from a JSON value. Raises `msgspec.ValidationError`."""
    return msgspec.convert(value, TelegramUpdate)
