"""The payloads of Discord, as far as the gateway reads any. Unknown fields are ignored, bad fields are errors."""

from typing import Annotated, Any

import msgspec

from trunkline.core.adapters.discord.calls import SNOWFLAKE

Snowflake = Annotated[str, msgspec.Meta(pattern=SNOWFLAKE)]

#: the id of a server only takes part in routes; platforms for tests name theirs by words
GuildId = Annotated[str, msgspec.Meta(pattern=r"\A[\w.-]{1,100}\Z")]

DM, GROUP_DM = 1, 3
THREADS = frozenset({10, 11, 12})
#: types of messages that say something: plain ones, replies, and answers of apps to commands
WRITTEN = frozenset({0, 19, 20, 23})
COMPONENT = 3


class UserData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    id: Snowflake
    username: str = ""
    global_name: str | None = None
    bot: bool = False


class MemberData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    user: UserData | None = None
    nick: str | None = None
    roles: tuple[str, ...] = ()


class ReferenceData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    message_id: Snowflake | None = None


class MessageData(msgspec.Struct, frozen=True, kw_only=True):
    """A message, as an event or from the history."""

    id: Snowflake
    channel_id: Snowflake
    author: UserData
    content: str = ""
    timestamp: str
    edited_timestamp: str | None = None
    type: int = 0
    guild_id: GuildId | None = None
    member: MemberData | None = None
    webhook_id: Snowflake | None = None
    application_id: Snowflake | None = None
    message_reference: ReferenceData | None = None
    # What `parts_of` reads; of any shape.
    attachments: Any = None
    components: Any = None
    embeds: Any = None
    flags: Any = None
    message_snapshots: Any = None
    poll: Any = None
    referenced_message: Any = None
    sticker_items: Any = None


class IdData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Something of which only the id is read."""

    id: Snowflake


class ComponentData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The used component: a button, or a menu with the chosen values."""

    custom_id: str
    values: tuple[str, ...] = ()


class InteractionData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    id: Snowflake
    token: str
    channel_id: Snowflake
    message: IdData
    data: ComponentData
    guild_id: GuildId | None = None
    member: MemberData | None = None
    user: UserData | None = None

    def __repr__(self) -> str:
        """Without the token."""
        return f"InteractionData(id={self.id!r})"


class InteractionKind(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    type: int


class ThreadData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    archived: bool = False
    locked: bool = False


class ChannelData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    id: Snowflake
    type: int
    name: str | None = None
    guild_id: GuildId | None = None
    parent_id: Snowflake | None = None
    last_message_id: Snowflake | None = None
    recipients: tuple[UserData, ...] = ()
    thread_metadata: ThreadData | None = None


class GuildData(msgspec.Struct, frozen=True, kw_only=True):
    """A server, which comes after READY. Channels do not name the server, and are read in turn."""

    id: GuildId
    unavailable: bool = False
    channels: tuple[Any, ...] = ()
    threads: tuple[Any, ...] = ()


class MessageEnds(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Deleted messages of a channel, without authors."""

    channel_id: str
    id: str | None = None
    ids: tuple[str, ...] = ()


class ReactionData(msgspec.Struct, frozen=True, kw_only=True):
    """A new or a lost reaction to a message."""

    user_id: Snowflake
    channel_id: Snowflake
    message_id: Snowflake
    emoji: dict[str, Any]
    guild_id: GuildId | None = None
    member: MemberData | None = None


class GuildStub(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A server in READY before the server itself comes, or a lost server: for good, or unavailable for a while."""

    id: GuildId
    unavailable: bool = False


class ReadyData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The first event of a session."""

    user: UserData
    session_id: str
    resume_gateway_url: str
    guilds: tuple[GuildStub, ...] = ()
    application: IdData | None = None


class GatewayAnswer(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    url: str


class PostedData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The parts of an accepted message for a receipt."""

    id: Snowflake
    channel_id: Snowflake


class WebhookData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A webhook; only the creator sees the token."""

    id: Snowflake
    name: str | None = None
    token: str | None = None

    def __repr__(self) -> str:
        """Without the token."""
        return f"WebhookData(id={self.id!r}, name={self.name!r})"
