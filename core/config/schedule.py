"""Configuration of the schedule."""

from datetime import date
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from trunkline.core.calendar.cron import Timing
from trunkline.core.calendar.zones import USER
from trunkline.core.config.base import Duration, Model


def _time(value: object) -> object:
    """YAML reads a time without quotes as one."""
    return value.isoformat() if isinstance(value, date) else value


class CronConfig(Model):
    """Something that an agent does at set times. Give one of `at`, `every` and `cron`."""

    id: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")
    """Names the entry in the store and in events. Under a new id it is a new entry."""
    at: Annotated[str, BeforeValidator(_time)] | None = None
    """Once, at a time such as `2026-11-23T09:00`; with an offset, or in `timezone`."""
    every: Annotated[Duration, Field(ge=1)] | None = None
    """At intervals, counted from the time at which the gateway first saw the entry."""
    cron: str | None = None
    """A cron expression: minute, hour, day of month, month, day of week."""
    timezone: str = USER
    """`user` for that of the user, `local` for that of the machine, or an IANA name."""
    agent: str | None = None
    """The agent; by default the default agent."""
    text: str = Field(min_length=1)
    """What the agent is asked."""
    wake: Literal["now", "next-heartbeat"] | None = None
    """If omitted, the entry starts a turn of its own. `now`: it starts a heartbeat that has the text; `next-heartbeat`:
    the next heartbeat has it."""
    target: str | None = None
    """Where the answer of the turn goes, as in `heartbeat.target`; by default nowhere. Not with `wake`."""
    to: str | None = None
    """The recipient, as in `heartbeat.to`."""
    account_id: str | None = None
    """The account that delivers."""

    @property
    def timing(self) -> Timing:
        return Timing(at=self.at, every=self.every, cron=self.cron, timezone=self.timezone)
