"""Active hours and time zones."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from tests.support.for_each import for_each
from trunkline.core.calendar.hours import ActiveHours, is_active, minutes
from trunkline.core.calendar.zones import Zones, zone

ZURICH = ZoneInfo("Europe/Zurich")


def at(text: str, name: str = "Europe/Zurich") -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(name)).timestamp()


def active(start: str, end: str, when: float, timezone: str = "Europe/Zurich", zones: Zones | None = None) -> bool:
    return is_active(ActiveHours(start=start, end=end, timezone=timezone), when, zones or Zones())


@for_each(
    ("start", "end", "clock", "expected"),
    [
        ("08:00", "20:00", "07:59:59", False),
        ("08:00", "20:00", "08:00", True),
        ("08:00", "20:00", "19:59:59", True),
        ("08:00", "20:00", "20:00", False),
        ("22:00", "06:00", "21:59", False),
        ("22:00", "06:00", "22:00", True),
        ("22:00", "06:00", "00:00", True),
        ("22:00", "06:00", "05:59", True),
        ("22:00", "06:00", "06:00", False),
        ("08:00", "24:00", "23:59:59", True),
        ("08:00", "24:00", "00:00", False),
        # What cannot be read, or has no length, is always, as it is upstream.
        ("08:00", "08:00", "03:00", True),
        ("24:00", "06:00", "12:00", True),
        ("8:00", "20:00", "03:00", True),
        ("08:00", "", "03:00", True),
    ],
)
def test_the_start_belongs_to_the_hours_and_the_end_does_not(start: str, end: str, clock: str, expected: bool) -> None:
    assert active(start, end, at(f"2026-11-23T{clock}")) is expected


def test_without_hours_every_time_is_active() -> None:
    assert is_active(None, 0, Zones())


def test_hours_follow_the_clock_on_the_wall_over_its_changes() -> None:
    # 2026-03-29: 02:00 becomes 03:00; 2026-10-25: 03:00 becomes 02:00.
    assert not active("08:00", "20:00", datetime.fromisoformat("2026-03-29T05:59+00:00").timestamp())
    assert active("08:00", "20:00", datetime.fromisoformat("2026-03-29T06:00+00:00").timestamp())
    assert not active("08:00", "20:00", datetime.fromisoformat("2026-03-28T06:00+00:00").timestamp())
    repeated = [datetime(2026, 10, 25, 2, 30, tzinfo=ZURICH, fold=fold).timestamp() for fold in (0, 1)]
    assert repeated[1] - repeated[0] == 3600
    assert [active("02:00", "03:00", when) for when in repeated] == [True, True]
    # The hour that is skipped never comes.
    start = at("2026-03-29T01:00")
    assert not any(active("02:00", "03:00", start + second) for second in range(0, 7200, 600))


def test_zones_of_the_user_and_the_machine_have_names() -> None:
    noon = at("2026-11-23T12:00", "UTC")
    zones = Zones(user="Asia/Tokyo", local="America/New_York")
    found = {
        name: active("21:00", "22:00", noon, name, zones)
        for name in ("user", "local", "UTC", "Asia/Tokyo", "Mars/Olympus")
    }
    # An invalid zone counts as the user's.
    assert found == {"user": True, "local": False, "UTC": False, "Asia/Tokyo": True, "Mars/Olympus": True}
    assert active("07:00", "08:00", noon, "local", zones)
    assert active("12:00", "13:00", noon, "x/y", Zones(user="also/wrong", local="wrong/too"))
    assert active("07:00", "08:00", noon, "user", Zones(user="local", local="America/New_York"))


@pytest.mark.parametrize("name", ["", "America", "../../etc/passwd", "Mars/Olympus", "UTC\x00"])
def test_a_name_that_is_no_zone_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="is no time zone: write an IANA name such as Europe/Zurich"):
        zone(name)


@pytest.mark.parametrize(("text", "end"), [("24:00", False), ("24:01", True), ("12:60", True), ("1200", False)])
def test_a_text_that_is_no_time_of_day_is_refused(text: str, end: bool) -> None:
    with pytest.raises(ValueError, match="is no time of day: write HH:MM, from 00:00 to "):
        minutes(text, end=end)
