"""The payloads of Discord, as far as the gateway reads any. Unknown fields are ignored, bad fields are errors."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from trunkline.core.adapters.discord.calls import SNOWFLAKE

Snowflake = Annotated[str, msgspec.Meta(pattern=SNOWFLAKE)]

#: the id of a server only takes part in routes; platforms for tests name theirs by words
GuildId = Annotated[str, msgspec.Meta(pattern=r"\A[\w.-]{1,100}\Z")]

#: types of channels
DM, GROUP_DM = 1, 3
THREADS = frozenset({10, 11, 12})
#: types of messages that people write: a plain message, and a reply
WRITTEN = frozenset({0, 19})
#: the type of an interaction with a component
COMPONENT = 3


class UserData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A user."""

    id: Snowflake
    username: str = ""
    global_name: str | None = None
    bot: bool = False


class MemberData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A user as a member of a server."""

    user: UserData | None = None
    nick: str | None = None
    roles: tuple[str, ...] = ()


class ReferenceData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The message answered by another."""

    message_id: Snowflake | None = None


class AttachmentData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A file of a message."""

    url: str = ""


class MessageData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A message, as an event or from the history."""

    id: Snowflake
    channel_id: Snowflake
    author: UserData
    content: str = ""
    timestamp: str
    type: int = 0
    guild_id: GuildId | None = None
    member: MemberData | None = None
    webhook_id: Snowflake | None = None
    application_id: Snowflake | None = None
    message_reference: ReferenceData | None = None
    attachments: tuple[AttachmentData, ...] = ()


class PressedMessage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The message whose component was used."""

    id: Snowflake


class ComponentData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The used component: a button, or a menu with the chosen values."""

    custom_id: str
    values: tuple[str, ...] = ()


class InteractionData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The use of a component by a person."""

    id: Snowflake
    token: str
    channel_id: Snowflake
    message: PressedMessage
    data: ComponentData
    guild_id: GuildId | None = None
    member: MemberData | None = None
    user: UserData | None = None

    def __repr__(self) -> str:
        """Without the token."""
        return f"InteractionData(id={self.id!r})"


class InteractionKind(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The type of an interaction."""

    type: int


class ThreadData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The state of a thread."""

    archived: bool = False
    locked: bool = False


class ChannelData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A channel, thread or direct conversation."""

    id: Snowflake
    type: int
    name: str | None = None
    guild_id: GuildId | None = None
    parent_id: Snowflake | None = None
    last_message_id: Snowflake | None = None
    recipients: tuple[UserData, ...] = ()
    thread_metadata: ThreadData | None = None


class GuildData(msgspec.Struct, frozen=True, kw_only=True):
    """A server, which comes after READY. Channels do not name their server, and are read one after another."""

    id: GuildId
    unavailable: bool = False
    channels: tuple[Any, ...] = ()
    threads: tuple[Any, ...] = ()


class GuildStub(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A server in READY before the server itself comes, or a lost server: for good, or unavailable for a while."""

    id: GuildId
    unavailable: bool = False


class ApplicationStub(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The application of the bot."""

    id: Snowflake


class ReadyData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The first event of a session."""

    user: UserData
    session_id: str
    resume_gateway_url: str
    guilds: tuple[GuildStub, ...] = ()
    application: ApplicationStub | None = None


class GatewayAnswer(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Where the gateway is."""

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
