"""The models of a scenario's `world` and `stored`: who and what there is around the gateway, and what it had before."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from trunkline.core.config import Duration, Model
from trunkline.core.values import Capability, DeliveryMode, Idempotency
from trunkline.sim.scenario.shorthand import as_names

#: the platforms that a world can have, in the order in which they are built
PLATFORMS = ("discord", "telegram", "slack", "matrix", "whatsapp", "signal")
#: those whose conversations have no threads
THREADLESS = ("whatsapp", "signal")


class PersonSpec(Model):
    """Somebody who talks to the gateway."""

    name: str = ""
    """Display name; by default the key."""
    roles: tuple[str, ...] = ()
    """Roles that they hold in guilds."""
    ids: dict[str, str] = Field(default_factory=dict)
    """Platform -> their id there; made from the key when not given. Every account there can write to them from the
    start; to others only when the file has named the conversation, as a place, before."""


class ThreadSpec(Model):
    """A thread or topic that exists from the start."""

    id: str | None = None
    """The platform's id; made from the name when not given."""


class RoomSpec(Model):
    """A guild channel (Discord), a channel (Slack), a room (Matrix) or a group (all others)."""

    id: str | None = None
    """The platform's id; made from the name when not given."""
    threads: Annotated[
        dict[str, ThreadSpec],
        BeforeValidator(as_names, json_schema_input_type=list[str] | dict[str, ThreadSpec | None]),
    ] = Field(default_factory=dict)
    """Threads or topics: a list of names, or name -> settings. WhatsApp and Signal have none."""
    accounts: tuple[str, ...] | None = None
    """Bot accounts that are members; by default all."""


class AccountSpec(Model):
    """A bot account of the gateway."""

    bot: str = "trunkline"
    """Its display name."""
    idempotency: Idempotency | None = None
    """What it offers for lost responses; by default what its platform does."""
    mode: DeliveryMode | None = None
    """By which transports it sends; by default those of its platform."""


class PlatformSpec(Model):
    """One fake platform."""

    guild: str | None = None
    """Discord: the guild's name."""
    accounts: dict[str, AccountSpec] = Field(default_factory=lambda: {"default": AccountSpec()}, min_length=1)
    """The gateway's bots on this platform."""
    rooms: Annotated[
        dict[str, RoomSpec],
        BeforeValidator(as_names, json_schema_input_type=list[str] | dict[str, RoomSpec | None]),
    ] = Field(default_factory=dict)
    """Rooms: a list of names, or name -> settings."""
    idempotency: Idempotency | None = None
    """What this platform offers for lost responses; by default what the real one does."""
    key_seconds: Annotated[Duration | None, Field(gt=0)] = None
    """How long it remembers idempotency keys; not given: for good. Only where it has keys."""
    mode: DeliveryMode | None = None
    """By which transports its accounts send: `direct`, `gateway`, or `hybrid` with both; by default as in reality."""
    cannot: tuple[Capability, ...] = ()
    """What its accounts cannot do, of what they usually can: `media`, `message-ids`, ..."""
    stable_ids: bool = True
    """`false`: a replayed message comes under a new id (as on Feishu)."""
    misplaces: bool = False
    """`true`: what is sent to a deleted thread is accepted in its room, and the receipt says so (as seen on Telegram);
    otherwise it is refused."""
    echoes: bool = False
    """`true`: what webhooks of the gateway say comes back to it, as messages of people do. Only where there are any:
    on Discord."""
    latency: Duration = 0.05
    """Usual time of a request, each way."""


class WorldSpec(Model):
    """Who and what there is around the gateway."""

    people: Annotated[
        dict[str, PersonSpec],
        BeforeValidator(as_names, json_schema_input_type=list[str] | dict[str, PersonSpec | None]),
    ] = Field(default_factory=dict)
    """A list of names, or name -> settings."""
    crowd: int = Field(default=0, ge=0, le=10_000)
    """This many more people, `p1`, `p2`, ..., with made-up names."""
    discord: PlatformSpec | None = None
    """A fake Discord: rooms are guild channels."""
    telegram: PlatformSpec | None = None
    """A fake Telegram: rooms are groups, threads are topics."""
    slack: PlatformSpec | None = None
    """A fake Slack: rooms are channels `C...`, people `U...`; the talk with somebody is known as `D...` too."""
    matrix: PlatformSpec | None = None
    """A fake Matrix: rooms are `!...:example.org`, people `@...:example.org`. The case of ids counts."""
    whatsapp: PlatformSpec | None = None
    """A fake WhatsApp: rooms are groups `...@g.us`, people phone numbers. It is served by the gateway path."""
    signal: PlatformSpec | None = None
    """A fake Signal: rooms are groups, people phone numbers. Texts come with their styles beside them."""

    @property
    def platforms(self) -> dict[str, PlatformSpec]:
        """The platforms that this world has, by name."""
        found: dict[str, PlatformSpec | None] = {name: getattr(self, name) for name in PLATFORMS}
        return {name: spec for name, spec in found.items() if spec is not None}


class PreloadedSession(Model):
    """A session that an earlier version of the gateway left in the store."""

    key: str = Field(min_length=1)
    """Its key, in the form of that version."""
    codec: str | None = None
    """Name of that form; by default `openclaw` for keys that begin with `agent:`, else `v1`."""
    id: str = Field(min_length=1)
    """Its id."""
    agent: str = "main"
    """Whose session it is."""
    updated: Duration = 0.0
    """When it was written last: of two sessions of one conversation, the later one goes on."""
    lines: tuple[str, ...] = ()
    """Its transcript: `user: ...`, `assistant: ...` or `hand: ...`."""
    place: str | None = None
    """The place that had it last; not given: that version did not keep it."""


class PreloadedStore(Model):
    """What the store holds before the gateway starts for the first time."""

    sessions: tuple[PreloadedSession, ...] = ()
    """Sessions with their transcripts."""
