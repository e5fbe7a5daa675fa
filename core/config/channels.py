"""Configuration of platforms and their accounts."""

import re
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from trunkline.core.config.base import Duration, Flag, Model, id_text
from trunkline.core.config.heartbeat import VisibilityConfig
from trunkline.core.values import ChunkMode

#: what becomes of a deed
Deeds = Literal["ignore", "note", "wake"]


class ChannelAccountConfig(Model):
    """Settings of one account of a platform; the default of each is that of the platform."""

    prompt: str | None = None
    """System prompt of turns that answer by this account, instead of those of its platform; empty for none."""
    text_limit: Annotated[int, Field(gt=0)] | None = None
    """Maximum length of one message of this account, in UTF-16 code units."""
    chunk_mode: ChunkMode | None = None
    """How texts of this account are split into chunks."""
    deeds: Deeds | None = None
    """Deeds of people on messages of this account."""
    heartbeat: VisibilityConfig = VisibilityConfig()
    """What people see of heartbeats."""


class ThreadBindingsConfig(Model):
    """How conversations of a platform are bound to sessions."""

    enabled: Flag = True
    """Whether conversations of this platform can be bound."""
    spawn_subagent_sessions: Flag = False
    """Work that an agent delegates in a channel gets its own session and a thread bound to it; the completion goes only
    to that thread. If off, the completion goes to the requester's session."""
    idle_timeout: Duration = 86400.0
    """A binding ends after this long without a message; 0 means never."""
    max_age: Duration = 0.0
    """A binding ends this long after it was made; 0 means never."""
    identity: Literal["bot", "webhook"] = "bot"
    """Who posts in a bound thread. A webhook has its own name, but its messages have neither idempotency keys nor
    look-up: a message whose response is lost is parked instead of resent."""
    identity_fallback: Literal["bot", "none"] = "bot"
    """What happens to a message whose webhook is gone: the bot visibly posts it in the same thread, or it fails."""
    degraded_after: int = Field(default=3, gt=0)
    """After this many such messages in a row the bot posts in the thread until it is bound again."""
    owner: Literal["channel", "account"] = "channel"
    """Which accounts answer in a bound group or thread: only the one it was bound through, or each by its own rules."""
    unarchive: Flag = True
    """Unarchive an archived thread, where allowed, before posting in it."""
    fallback: Literal["none", "requester"] = "none"
    """Where a completion goes if its bound conversation cannot be used: nowhere, or visibly to the requester."""
    notice: Flag = True
    """Notify the requester, without the content, of a message that cannot be delivered to its bound conversation."""
    farewell: str = ""
    """Message posted in a conversation when its binding expires; empty for none."""
    sweep: Annotated[Duration, Field(gt=0)] = 120.0
    """How often to check that bound conversations still exist."""


_HUMP = re.compile(r"(?<=[a-z])([A-Z])")


def _gates(value: object) -> object:
    """Gates of actions with their names in snake_case; upstream writes them in camelCase."""
    if not isinstance(value, dict):
        return value
    given: dict[object, object] = value  # pyright: ignore[reportUnknownVariableType]
    return {_HUMP.sub(r"_\1", name).lower() if isinstance(name, str) else name: on for name, on in given.items()}


class ChannelConfig(Model):
    """Settings of one platform."""

    thread_bindings: ThreadBindingsConfig = ThreadBindingsConfig()
    """Session bindings on this platform."""
    bots: Literal["ignore", "allow"] = "ignore"
    """What to do with messages of other bots and webhooks. The gateway's own are always ignored."""
    deeds: Deeds = "note"
    """Deeds of people: edits and deletions of their messages, and reactions. `note`: a line of the
    transcript says it, and a question whose turn has not begun is answered as edited, or not at all. `wake`: the agent
    has a turn for each such line, too. `ignore`: nothing."""

    prompt: str = ""
    """System prompt of turns that answer on this platform, after the agent's own. It is read when the turn starts."""
    prompts: dict[str, str] = Field(default_factory=dict)
    """The same by agent, instead of `prompt`; an empty one for none."""
    auto_thread: Flag = False
    """Answer a top-level message of a group or channel in a thread opened on that message."""
    reply_reference: Flag = False
    """An answer quotes the message that it answers if both are in the same place."""
    text_limit: Annotated[int, Field(gt=0)] | None = None
    """Maximum length of one message, in UTF-16 code units; the default is the platform's usual limit, or less if its
    adapter says so."""
    chunk_mode: ChunkMode | None = None
    """`length` (the default) splits a text only where it gets too long; `newline` also splits at every paragraph."""
    accounts: dict[str, ChannelAccountConfig] = Field(default_factory=dict)
    """Settings by account; account names are case-insensitive."""
    group_dms: tuple[str, ...] = ()
    """Slack: ids of multi-person direct messages, which look like channels."""
    rooms: tuple[str, ...] = ()
    """Slack: ids that are channels even if they look otherwise."""
    actions: Annotated[dict[str, Flag], BeforeValidator(_gates)] = Field(default_factory=dict)
    """Switches of actions of the message tool, e.g. `moderation: true`; docs/message-tool.md lists them."""
    default_account: str | None = None
    """The account that sends if none is named; the default is the only account, else `default`."""
    heartbeat: VisibilityConfig = VisibilityConfig()
    """What people see of heartbeats. That of the entry `defaults` of `channels` holds for all of them."""
    after_call: str | None = None
    """Voice: the channel on which a person gets what could not be said any more because the call had ended. They must
    have exactly one id there by `session.identity_links`. By default it is not sent elsewhere."""
    recipients: tuple[Annotated[str, BeforeValidator(id_text)], ...] = ()
    """People that a heartbeat or the schedule may write to; `*` for anybody. On WhatsApp another person is replaced by
    the first one here. It does not restrict who may write to the gateway."""

    def account(self, name: str) -> ChannelAccountConfig:
        if not self.accounts:
            return _ACCOUNT_DEFAULTS
        folded = name.lower()
        found = (own for other, own in self.accounts.items() if other.lower() == folded)
        return self.accounts.get(name) or next(found, _ACCOUNT_DEFAULTS)

    def deeds_of(self, account: str) -> Deeds:
        return self.account(account).deeds or self.deeds


_ACCOUNT_DEFAULTS = ChannelAccountConfig()
