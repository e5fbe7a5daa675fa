"""Configuration of heartbeats: when they run, what they are asked, and where they deliver."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, PlainSerializer

from trunkline.core.calendar.hours import ActiveHours
from trunkline.core.calendar.zones import LOCAL, USER
from trunkline.core.config.base import Duration, Flag, Model, parse_duration

#: targets of a heartbeat that are no channel: the last conversation, nowhere, the owner
LAST, NONE, OWNER = "last", "none", "owner"


#: remainder beside the token, in UTF-16 code units, that is still an acknowledgement
ACK_MAX_CHARS = 300


def _interval(value: object) -> float:
    """Seconds; a bare number is minutes, as upstream reads it."""
    if isinstance(value, str):
        return parse_duration(f"{value}m" if value.strip().isdecimal() else value)
    number = parse_duration(value)
    return number * 60


def _clock(value: object) -> object:
    """YAML reads 22:00 without quotes as the number of its minutes."""
    return f"{value // 60:02}:{value % 60:02}" if isinstance(value, int) and not isinstance(value, bool) else value


# Written with its unit: as a number it would be read as minutes.
Interval = Annotated[Duration, BeforeValidator(_interval), PlainSerializer(lambda seconds: f"{float(seconds)!r}s")]
ClockTime = Annotated[str, BeforeValidator(_clock)]


class ActiveHoursConfig(Model):
    """The part of each day in which heartbeats run."""

    start: ClockTime
    """`HH:MM`."""
    end: ClockTime
    """`HH:MM`, not included; `24:00` is the end of the day. Before `start`: the next day, so 22:00 to 06:00 is the
    night."""
    timezone: str = USER
    """`user` for that of the user, `local` for that of the machine, or an IANA name."""

    @property
    def hours(self) -> ActiveHours:
        return ActiveHours(start=self.start, end=self.end, timezone=self.timezone)


class HeartbeatConfig(Model):
    """A turn that an agent gets at intervals, so that it can act by itself."""

    every: Interval = 1800.0
    """Time between two runs; a bare number is minutes. 0: none."""
    prompt: str = ""
    """What the agent is asked; empty for the gateway's own text."""
    file: str | None = None
    """Path of a file with instructions, usually `HEARTBEAT.md`, which is read before each run. If it holds nothing but
    headings, empty list items and comments, the run is skipped; without the file it takes place."""
    text: str | None = None
    """The instructions themselves, instead of a file."""
    ack_max_chars: int = Field(default=ACK_MAX_CHARS, ge=0)
    """A text beside `HEARTBEAT_OK` that is not longer than this, in UTF-16 code units, is not delivered."""
    target: str | None = None
    """Where the answer goes: `owner` (a direct chat with one of `control.owners`, else with the first of a channel's
    `recipients`), `last` (where the session was last used), a channel, or `none`. The default is `owner`; in the
    profile `openclaw` it is `none`."""
    to: str | None = None
    """The recipient, as a target of the channel; by default the last one of the session, if it is on that channel."""
    account_id: str | None = None
    """The account that delivers."""
    session: str | None = None
    """Key of the session that the agent works in; by default its main session."""
    active_hours: ActiveHoursConfig | None = None
    user_timezone: str = LOCAL
    """The time zone of the user: an IANA name, or `local`."""
    direct_policy: Literal["allow", "block"] = "allow"
    """Whether the answer may go to a direct chat."""
    include_reasoning: Flag = False
    """Whether a paragraph of the answer that begins with `Reasoning:` is delivered before the rest, or dropped."""
    response_prefix: str = ""
    """Text before each delivered answer."""
    skip_when_busy: Flag = False
    """Wait while any session of the agent is busy, not only that of the heartbeat."""


class VisibilityConfig(Model):
    """Visibility of heartbeats: each setting of the account, else of the channel, else of `channels.defaults`."""

    show_ok: Flag | None = None
    """Deliver `HEARTBEAT_OK` when there is nothing to say; off if nothing is set."""
    show_alerts: Flag | None = None
    """Deliver everything else; on if nothing is set."""
    use_indicator: Flag | None = None
    """Record how the run ended for indicators; on if nothing is set."""
