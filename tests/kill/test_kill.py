"""A gateway process is killed again and again under load; then what people see is compared with what was promised."""

from pathlib import Path

import pytest

from tests.kill.child import Fuse
from tests.kill.platform import Lies, Manners, Point
from tests.kill.stage import Setting
from tests.kill.storm import Blow, Plan, Report, run_storm
from tests.support.scale import scaled
from trunkline import Idempotency

#: kills of a gateway whose platform has keys; after each of the others there is more to wait for
KILLS = scaled(220, 60)
FEWER = scaled(60, 16)
SEED = 4

_WELL_BEHAVED = Manners(mute=0.0, cut=0.0, busy=0.0)
_FEW = ("ana", "g1")


def storm(folder: Path, kills: int, *blows: Blow, **setting: object) -> Report:
    return run_storm(Plan(kills=kills, blows=blows, setting=Setting(seed=SEED, **setting)), folder)  # pyright: ignore[reportArgumentType]


def test_nothing_is_lost_or_doubled_on_a_platform_with_keys(tmp_path):
    report = storm(tmp_path, KILLS, idempotency=Idempotency.KEY)
    assert report.verdict.findings == [], report
    assert report.verdict.parked == [], report
    assert report.kills >= KILLS
    # It was worth the trouble: there was work in all phases of a process, and much was sent that was there already.
    assert report.verdict.promises > KILLS / 2, report
    assert report.repeats > KILLS / 10, report
    assert min(report.blows.get("boot", 0), report.blows.get("time", 0)) >= KILLS / 20, report
    assert report.met(Point) >= KILLS / 20, report
    assert report.met(["process.recovered", "recovery.decided"]) >= 3, report
    assert report.stops, report


def test_nothing_is_lost_or_doubled_on_a_platform_that_can_be_asked(tmp_path):
    report = storm(tmp_path, FEWER, idempotency=Idempotency.LOOKUP)
    assert report.verdict.findings == [], report
    assert report.verdict.parked == [], report
    assert report.verdict.promises > FEWER / 2, report
    # Nothing was sent again before the platform had said that it did not have it.
    assert report.repeats == 0, report


def test_nothing_is_doubled_and_all_doubt_is_parked_on_a_platform_with_neither(tmp_path):
    report = storm(tmp_path, FEWER, idempotency=Idempotency.NONE)
    assert report.verdict.findings == [], report
    assert report.verdict.promises > FEWER / 2, report
    assert 0 < len(report.verdict.parked) < report.verdict.promises, report
    # Only a notice may be sent once more.
    assert report.repeats <= report.verdict.notices, report


# ---------------------------------------------------------------- what is wrong is found


def test_a_platform_without_the_keys_that_its_adapter_claims_is_found_out(tmp_path):
    report = storm(
        tmp_path,
        6,
        Blow(name="accepted", after=5.0, point=Point.ACCEPTED, count=2),
        idempotency=Idempotency.NONE,
        claims=Idempotency.KEY,
        manners=_WELL_BEHAVED,
        conversations=_FEW,
    )
    assert report.blows == {"accepted": 6}, report
    assert report.repeats >= 6, report
    assert report.verdict.duplicated, report


def test_an_adapter_whose_requests_come_later_than_it_claims_is_found_out(tmp_path):
    report = storm(
        tmp_path,
        3,
        Blow(name="received", after=5.0, point=Point.RECEIVED, count=2),
        idempotency=Idempotency.LOOKUP,
        in_flight=0.01,
        taken=2.0,
        manners=_WELL_BEHAVED,
        conversations=_FEW,
    )
    assert report.blows == {"received": 3}, report
    assert report.verdict.duplicated, report


def test_an_adapter_that_acknowledges_before_anything_is_stored_is_found_out(tmp_path):
    blow = Blow(name="received", after=5.0, fuse=Fuse(kind="inbound.received"))
    report = storm(tmp_path, 4, blow, hasty=True, conversations=_FEW)
    assert report.blows == {"received": 4}, report
    assert report.verdict.lost, report


@pytest.mark.parametrize(("lies", "kind"), [(Lies(loses=0.2), "lost"), (Lies(garbles=0.2), "altered")])
def test_a_platform_that_lies_is_found_out(tmp_path, lies, kind):
    blow = Blow(name="told", after=5.0, point=Point.TOLD, count=4)
    report = storm(tmp_path, 2, blow, manners=_WELL_BEHAVED, lies=lies, conversations=_FEW)
    assert getattr(report.verdict, kind), report
