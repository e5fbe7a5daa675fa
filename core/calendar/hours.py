"""Active hours: the time of day at which heartbeats run."""

import re
from datetime import datetime

import msgspec

from trunkline.core.calendar.zones import USER, Zones

_CLOCK = re.compile(r"([01][0-9]|2[0-4]):([0-5][0-9])")
_DAY = 24 * 60


class ActiveHours(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A part of each day, as ``HH:MM``. An end before the start is on the next day: 22:00 to 06:00 is the night."""

    start: str
    #: not included; ``24:00`` is the end of the day
    end: str
    #: ``user``, ``local`` or an IANA name
    timezone: str = USER


def minutes(text: str, *, end: bool = False) -> int:
    """Minutes since midnight of ``HH:MM``. Raises `ValueError`; only an end may be 24:00."""
    found = _CLOCK.fullmatch(text.strip())
    value = int(found[1]) * 60 + int(found[2]) if found else _DAY + 1
    if value > _DAY or (value == _DAY and not end):
        latest = "24:00" if end else "23:59"
        raise ValueError(f"{text!r} is no time of day: write HH:MM, from 00:00 to {latest}")
    return value


def is_active(hours: ActiveHours | None, now: float, zones: Zones) -> bool:
    """Whether a time, in seconds since the epoch, is in the active hours, by the clock on the wall.

    Without hours, or with hours that cannot be read or have no length, every time is active, as it is upstream. The
    configuration refuses such hours in the profile `trunkline`.
    """
    if hours is None:
        return True
    try:
        start, end = minutes(hours.start), minutes(hours.end, end=True)
    except ValueError:
        return True
    if start == end:
        return True
    wall = datetime.fromtimestamp(now, zones.of(hours.timezone))
    at = wall.hour * 60 + wall.minute
    return start <= at < end if start < end else at >= start or at < end
