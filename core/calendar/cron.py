"""When an entry of the schedule is due: once at a time, at intervals, or by a cron expression of five fields."""

from datetime import UTC, datetime, timedelta, tzinfo

import msgspec

from trunkline.core.calendar.zones import USER, Zones

_FIELDS = 5
#: the most ambiguous hours in a row that a search steps over
_REPEATS = 200


class Timing(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The time when an entry is due: exactly one of three fields."""

    #: ISO 8601; without an offset, in the entry's time zone
    at: str | None = None
    #: seconds
    every: float | None = None
    #: minute, hour, day of month, month, day of week
    cron: str | None = None
    #: ``user``, ``local`` or an IANA name
    timezone: str = USER


def check_expression(expression: str) -> None:
    """Raise `ValueError` for an invalid cron expression, and for an expression without any time."""
    fields = expression.split()
    if len(fields) != _FIELDS:
        raise ValueError(
            f"{expression!r} has {len(fields)} fields, and needs 5: minute, hour, day of month, month, day of week"
        )
    if _next(expression, datetime(2000, 1, 1, tzinfo=UTC)) is None:
        raise ValueError(f"{expression!r} never fires: no day has this date")


def check_time(text: str) -> None:
    """Raise `ValueError` for a text without a time."""
    _time(text, UTC)


def _time(text: str, zone: tzinfo) -> datetime:
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        raise ValueError(f"{text!r} is no time: write 2026-11-23T09:00, or 2026-11-23T09:00+01:00") from None
    return found if found.tzinfo is not None else found.replace(tzinfo=zone)


def next_fire(timing: Timing, after: float, zones: Zones, *, since: float) -> float | None:
    """The first time after `after` at which an entry is due, or None if there is none.

    Times are seconds since the epoch. `since`: when the entry was first seen, from which intervals count. A time that
    a clock change skips is due at the change; a time that it repeats is due once, unless minute or hour is ``*``.
    """
    if timing.every is not None:
        passed = max(0, (after - since) // timing.every)
        due = since + (passed + 1) * timing.every
        return due if due > after else due + timing.every
    zone = zones.of(timing.timezone)
    if timing.at is not None:
        at = _shown(_time(timing.at, zone)).timestamp()
        return at if at > after else None
    found = _next(timing.cron or "", datetime.fromtimestamp(after, zone))
    return None if found is None else found.timestamp()


def _shown(at: datetime) -> datetime:
    """A time as the clock shows times: the change instead of a skipped time, as for an expression."""
    if at.astimezone(UTC).astimezone(at.tzinfo).replace(tzinfo=None) == at.replace(tzinfo=None):
        return at
    return _next(f"{at.minute} {at.hour} {at.day} {at.month} *", at - timedelta(days=1)) or at


def _next(expression: str, after: datetime) -> datetime | None:
    """The first match of an expression after a time."""
    # Only a gateway with a schedule needs it.
    from cronsim import CronSim, CronSimError

    try:
        matches = CronSim(expression, after)
    except CronSimError as error:
        field = str(error).removeprefix("Bad ")
        if field == "day-of-month":
            raise ValueError(f"{expression!r} never fires, or its day of month is invalid") from None
        raise ValueError(f"{expression!r}: the field {field} is invalid") from None
    # In an hour that a clock change repeats, the first matches may be those of the first time.
    for _ in range(_REPEATS):
        found = next(matches, None)
        if found is None or found.timestamp() > after.timestamp():
            return found
    return None
