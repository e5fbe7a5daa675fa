"""The times of the schedule: expressions, intervals, single times, zones and clock changes."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from tests.support.for_each import for_each
from trunkline.core.calendar.cron import Timing, check_expression, check_time, next_fire
from trunkline.core.calendar.zones import Zones

ZURICH = "Europe/Zurich"


def at(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def fires(expression: str, after: str, count: int, timezone: str = ZURICH) -> list[str]:
    """The next times of an expression, as local times with offset."""
    found: list[str] = []
    now = at(after)
    for _ in range(count):
        due = next_fire(Timing(cron=expression, timezone=timezone), now, Zones(), since=0)
        assert due is not None
        assert due > now
        now = due
        found.append(datetime.fromtimestamp(now, ZoneInfo(timezone)).isoformat(timespec="minutes"))
    return found


def test_an_expression_fires_in_its_zone() -> None:
    assert fires("30 9 * * MON-FRI", "2026-11-20T09:00+01:00", 2) == [
        "2026-11-20T09:30+01:00",
        "2026-11-23T09:30+01:00",
    ]
    assert fires("0 0 29 2 *", "2026-01-01T00:00+01:00", 1) == ["2028-02-29T00:00+01:00"]
    assert fires("0 9 * * *", "2026-11-20T09:00+00:00", 1, "Asia/Tokyo") == ["2026-11-21T09:00+09:00"]


def test_a_time_that_the_clock_skips_is_due_at_the_change() -> None:
    assert fires("30 2 * * *", "2026-03-28T12:00+01:00", 2) == ["2026-03-29T03:00+02:00", "2026-03-30T02:30+02:00"]


@for_each(
    ("text", "zone", "due"),
    [
        ("2026-03-29T02:30", ZURICH, "2026-03-29T03:00+02:00"),
        ("2026-03-29T02:30+01:00", ZURICH, "2026-03-29T03:30+02:00"),
        ("2026-10-04T02:10", "Australia/Lord_Howe", "2026-10-04T02:30+11:00"),
        ("2026-09-06T00:20", "America/Santiago", "2026-09-06T01:00-03:00"),
        ("2026-10-25T02:30", ZURICH, "2026-10-25T02:30+02:00"),
    ],
)
def test_a_single_time_that_the_clock_skips_is_due_at_the_change_too(text: str, zone: str, due: str) -> None:
    assert next_fire(Timing(at=text, timezone=zone), 0.0, Zones(), since=0) == at(due)


def test_a_time_that_the_clock_repeats_is_due_once() -> None:
    assert fires("30 2 * * *", "2026-10-24T12:00+02:00", 2) == ["2026-10-25T02:30+02:00", "2026-10-26T02:30+01:00"]
    # Also if the gateway starts in the repeated hour.
    assert fires("30 2 * * *", "2026-10-25T02:10+01:00", 1) == ["2026-10-26T02:30+01:00"]


def test_every_half_hour_is_every_half_hour_while_the_clock_changes() -> None:
    assert fires("*/30 * * * *", "2026-10-25T01:45+02:00", 5) == [
        "2026-10-25T02:00+02:00",
        "2026-10-25T02:30+02:00",
        "2026-10-25T02:00+01:00",
        "2026-10-25T02:30+01:00",
        "2026-10-25T03:00+01:00",
    ]


def test_an_interval_counts_from_the_first_sight() -> None:
    def due(now: float) -> float | None:
        return next_fire(Timing(every=60.0), now, Zones(), since=1000.0)

    assert [due(now) for now in (999.0, 1000.0, 1059.0, 1060.0, 5000.0)] == [1060.0, 1060.0, 1060.0, 1120.0, 5020.0]


def test_a_single_time_fires_once_and_has_the_zone_of_its_entry() -> None:
    moment = at("2026-11-23T09:00+09:00")
    tokyo = Timing(at="2026-11-23T09:00", timezone="Asia/Tokyo")
    assert next_fire(tokyo, moment - 1, Zones(), since=0) == moment
    assert next_fire(tokyo, moment, Zones(), since=0) is None
    offset = Timing(at="2026-11-23T00:00+00:00", timezone="Asia/Tokyo")
    assert next_fire(offset, moment - 1, Zones(), since=0) == moment


@for_each(
    ("expression", "says"),
    [
        ("0 0 30 2 *", "'0 0 30 2 *' never fires"),
        ("0 0 31 4,6,9,11 *", "never fires"),
        ("60 * * * *", "the field minute is invalid"),
        ("0 24 * * *", "the field hour is invalid"),
        ("0 0 0 * *", "never fires, or its day of month is invalid"),
        ("0 0 * 13 *", "the field month is invalid"),
        ("0 0 * * FUNDAY", "the field day-of-week is invalid"),
        ("*/0 * * * *", "the field minute is invalid"),
        ("* * * *", "has 4 fields, and needs 5"),
        ("0 0 * * * *", "has 6 fields, and needs 5"),
        ("@daily", "has 1 fields, and needs 5"),
        ("", "has 0 fields, and needs 5"),
    ],
)
def test_an_expression_that_is_invalid_or_never_fires_is_refused(expression: str, says: str) -> None:
    with pytest.raises(ValueError) as refusal:
        check_expression(expression)
    assert says in str(refusal.value)


def test_an_expression_that_fires_seldom_is_accepted() -> None:
    check_expression("0 0 29 2 MON")
    check_expression("59 23 31 12 *")


@pytest.mark.parametrize("text", ["tomorrow", "", "2026-13-01T00:00", "09:00"])
def test_a_text_that_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no time: write 2026-11-23T09:00"):
        check_time(text)
