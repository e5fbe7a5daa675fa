"""The models of a scenario's `world` (people and platforms) and `stored` (what the store holds before the run)."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, PrivateAttr

from trunkline.core.action_catalogue import Action
from trunkline.core.actions.features import Feature
from trunkline.core.channels import rules_for
from trunkline.core.config import Duration, Model
from trunkline.core.config.base import Flag
from trunkline.core.values import DeliveryMode, Idempotency
from trunkline.sim.scenario.model.abilities import ABILITIES
from trunkline.sim.scenario.shorthand import as_crowd, as_list, as_names

#: platforms without rooms, whose conversations are calls
CALLS = ("voice",)
#: why an account may not be ready to send, where it can be more than offline; the usual reason first
_NOT_READY = {
    "whatsapp": ("whatsapp-not-running", "whatsapp-not-linked", "whatsapp-disabled"),
    "signal": ("signal-no-session", "signal-not-running"),
    "bluebubbles": ("bluebubbles-not-running",),
    "imessage": ("imessage-not-running",),
    "voice": ("voice-no-line",),
}


def not_ready(platform: str) -> tuple[str, ...]:
    """Why an account of a platform may not be ready to send, the usual reason first."""
    return _NOT_READY.get(platform, (f"{platform}-offline",))


#: what people can press
_PRESSED = frozenset({Feature.BUTTONS, Feature.COMPONENTS, Feature.CARDS})
#: what the real platforms offer against lost responses; the others offer nothing
_OFFERED = {"discord": Idempotency.KEY, "matrix": Idempotency.KEY, "voice": Idempotency.KEY}


class PersonSpec(Model):
    """A person who talks to the gateway."""

    name: str = ""
    """Display name; by default the key."""
    roles: tuple[str, ...] = ()
    """Their roles in guilds."""
    ids: dict[str, str] = Field(default_factory=dict)
    """Platform -> their id there; by default derived from the key. Every account on that platform can write to them
    from the start. An account can write to a person without an id only if the file names the conversation as a
    place."""


class ThreadSpec(Model):
    """A thread or topic that exists from the start."""

    id: str | None = None
    """The platform's id; by default derived from the name."""


class RoomSpec(Model):
    """A guild channel (Discord), a channel (Slack), a room (Matrix) or a group (all others)."""

    id: str | None = None
    """The platform's id; by default derived from the name."""
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
    """What it offers against lost responses; by default what its platform offers."""
    mode: DeliveryMode | None = None
    """The transports it sends over; by default those of its platform."""


class PlatformSpec(Model):
    """A fake platform."""

    guild: str | None = None
    """Discord: the guild's name."""
    accounts: dict[str, AccountSpec] = Field(default_factory=lambda: {"default": AccountSpec()}, min_length=1)
    """The gateway's bots on this platform."""
    rooms: Annotated[
        dict[str, RoomSpec], BeforeValidator(as_names, json_schema_input_type=list[str] | dict[str, RoomSpec | None])
    ] = Field(default_factory=dict)
    """Rooms: a list of names, or name -> settings."""
    idempotency: Idempotency | None = None
    """What this platform offers against lost responses; by default what the real one offers."""
    key_seconds: Annotated[Duration | None, Field(gt=0)] = None
    """How long it remembers idempotency keys; by default forever. Only for platforms with keys."""
    mode: DeliveryMode | None = None
    """The transports its accounts send over: `direct`, `gateway`, or `hybrid` for both; by default as on the real
    platform."""
    cannot: tuple[Annotated[str, Field(json_schema_extra={"enum": list(ABILITIES)})], ...] = ()
    """Capabilities and actions to remove from its accounts: `media`, `message-ids`, `edit`, `pin`, ..."""
    stable_ids: Flag = True
    """`false`: a replayed message arrives under a new id (as on Feishu)."""
    misplaces: Flag = False
    """`true`: a send to a deleted thread is accepted in its room, and the receipt says so (as seen on Telegram).
    Otherwise it is refused."""
    echoes: Flag = False
    """`true`: messages posted by the gateway's webhooks come back to it like messages from people. Only for platforms
    with webhooks: Discord."""
    latency: Duration = 0.05
    """Usual latency of a request, each way."""
    lines: Annotated[int, Field(gt=0)] | None = None
    """Voice: how many calls an account can have at once; the next caller hears that it is busy. By default any
    number."""
    #: person -> the names of their calls, which the script makes
    _calls: dict[str, tuple[str, ...]] = PrivateAttr(default_factory=dict[str, tuple[str, ...]])

    @property
    def calls(self) -> Mapping[str, tuple[str, ...]]:
        """Person -> the names of the calls that they make; known when the script is read."""
        return self._calls

    def with_calls(self, calls: Mapping[str, tuple[str, ...]]) -> "PlatformSpec":
        copy = self.model_copy()
        copy._calls = dict(calls)
        return copy


def idempotency_of(platform: str, spec: PlatformSpec, account: AccountSpec) -> Idempotency:
    """The support of an account for lost responses."""
    return account.idempotency or spec.idempotency or _OFFERED.get(platform, Idempotency.NONE)


class ChatterSpec(Model):
    """The chatter of the crowd: made-up sentences of made-up people, the same for the same seed."""

    places: Annotated[tuple[str, ...], BeforeValidator(as_list, json_schema_input_type=str | list[str])] = Field(
        validation_alias="in", min_length=1
    )
    """Rooms and threads; a place that ends in `@` is the direct conversation of the one who speaks: `telegram/@`."""
    messages: int = Field(default=10, ge=1, le=1000)
    """How many messages."""
    every: Annotated[Duration, Field(gt=0)] = 5.0
    """The usual time between two of them."""
    start: Duration = 0.0
    """When the first one may come."""


class CrowdSpec(Model):
    """Additional people, `p1`, `p2`, ..., with made-up names."""

    count: int = Field(default=0, ge=0, le=10_000)
    """How many there are."""
    chatter: ChatterSpec | None = None
    """What they say by themselves; by default only the script speaks for them."""


class WorldSpec(Model):
    """The people and platforms around the gateway."""

    people: Annotated[
        dict[str, PersonSpec],
        BeforeValidator(as_names, json_schema_input_type=list[str] | dict[str, PersonSpec | None]),
    ] = Field(default_factory=dict)
    """A list of names, or name -> settings."""
    crowd: Annotated[CrowdSpec, BeforeValidator(as_crowd, json_schema_input_type=int | CrowdSpec)] = CrowdSpec()
    """Additional people, `p1`, `p2`, ..., with made-up names: their number, or settings."""
    store: Literal["file", "server"] = "file"
    """Where the gateway's store is: in a file, or on a server, which faults on `server` strike."""
    files: dict[str, str] = Field(default_factory=dict)
    """Files on the gateway's machine, such as `HEARTBEAT.md`: path -> text."""
    discord: PlatformSpec | None = None
    """A fake Discord: rooms are guild channels."""
    telegram: PlatformSpec | None = None
    """A fake Telegram: rooms are groups, threads are topics."""
    slack: PlatformSpec | None = None
    """A fake Slack: rooms are channels `C...`, people `U...`; a direct conversation also has an id `D...`."""
    matrix: PlatformSpec | None = None
    """A fake Matrix: rooms are `!...:example.org`, people `@...:example.org`. Ids are case-sensitive."""
    whatsapp: PlatformSpec | None = None
    """A fake WhatsApp: rooms are groups `...@g.us`, people phone numbers. Sends use the gateway transport."""
    signal: PlatformSpec | None = None
    """A fake Signal: rooms are groups, people phone numbers. Text styles are sent separately from the text."""
    bluebubbles: PlatformSpec | None = None
    """A fake BlueBubbles: rooms are groups `chat...`, people phone numbers. Messages can be unsent and have effects."""
    imessage: PlatformSpec | None = None
    """A fake iMessage, with the rules of the fake BlueBubbles."""
    msteams: PlatformSpec | None = None
    """A fake Microsoft Teams: rooms are channels `19:...@thread.tacv2`, people `29:...`, threads are reply chains."""

    voice: PlatformSpec | None = None
    """Fake calls: people call by phone number, `hang_up`, `hold` and `resume`; there are no rooms. A call is a thread
    of the conversation with its person: `voice/@ana/CALL`."""

    plugins: dict[str, PlatformSpec] = Field(default_factory=dict)
    """Fake platforms of plug-ins, by their names, such as `acme.pager`."""

    @property
    def platforms(self) -> dict[str, PlatformSpec]:
        found: dict[str, PlatformSpec | None] = {name: getattr(self, name) for name in PLATFORMS}
        return {name: spec for name, spec in (found | self.plugins).items() if spec is not None}

    def with_platforms(self, specs: Mapping[str, PlatformSpec]) -> "WorldSpec":
        """The world with other settings of some of its platforms."""
        ours = {name: spec for name, spec in specs.items() if name in PLATFORMS}
        theirs = {name: specs.get(name, spec) for name, spec in self.plugins.items()}
        return self.model_copy(update={**ours, "plugins": theirs})


#: the platforms that a world can have, in the order in which they are built
PLATFORMS = tuple(name for name, field in WorldSpec.model_fields.items() if field.annotation == PlatformSpec | None)
#: platforms without threads, without polls and without buttons
THREADLESS = tuple(name for name in PLATFORMS if rules_for(name).action(Action.THREAD_REPLY) is None)
POLLLESS = tuple(name for name in PLATFORMS if rules_for(name).action(Action.POLL) is None)
BUTTONLESS = tuple(name for name in PLATFORMS if not rules_for(name).features & _PRESSED)


class PreloadedSession(Model):
    """A session that an earlier version of the gateway left in the store."""

    key: str = Field(min_length=1)
    """Its key, in the form that version used."""
    codec: str | None = None
    """The name of that form; by default `openclaw` for keys that begin with `agent:`, else `v1`."""
    id: str = Field(min_length=1)
    """Its id."""
    agent: str = "main"
    """The agent it belongs to."""
    updated: Duration = 0.0
    """When it was last written. Of two sessions of one conversation, the later one continues."""
    lines: tuple[str, ...] = ()
    """Its transcript: `user: ...`, `assistant: ...` or `hand: ...`."""
    place: str | None = None
    """Its last place; omit it for a version that did not store the place."""


class PreloadedStore(Model):
    """The contents of the store before the gateway first starts."""

    sessions: tuple[PreloadedSession, ...] = ()
    """Sessions with their transcripts."""
