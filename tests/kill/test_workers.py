"""Outside workers answer on the store file while gateways and workers are killed: each result is seen once."""

from pathlib import Path

import pytest

from tests.kill.crew import DELEGATING, WORKERS
from tests.kill.pair_storm import run_pair_storm
from tests.kill.stage import Setting
from tests.kill.storm import Plan, run_storm
from tests.support.scale import scaled
from trunkline import Idempotency

KILLS = scaled(150, 30)
FEWER = scaled(40, 8)
SEED = 4


def setting(able: Idempotency = Idempotency.KEY) -> Setting:
    return Setting(seed=SEED, idempotency=able, workers=WORKERS, delegating=DELEGATING)


@pytest.mark.parametrize("able", [Idempotency.KEY, pytest.param(Idempotency.LOOKUP, marks=pytest.mark.slow)])
def test_s33_no_result_is_lost_or_doubled_or_misplaced_when_gateways_and_workers_are_killed(tmp_path: Path, able):
    report = run_storm(Plan(kills=KILLS, setting=setting(able)), tmp_path)
    assert report.verdict.findings == [], report
    assert report.verdict.parked == [], report
    # A slow machine gets few results between two kills.
    assert report.verdict.reports > KILLS / 50, report
    assert report.workers > KILLS / 10, report


@pytest.mark.slow
def test_all_doubt_about_a_report_is_parked_on_a_platform_with_neither_keys_nor_a_look_up(tmp_path: Path):
    report = run_storm(Plan(kills=FEWER, setting=setting(Idempotency.NONE)), tmp_path)
    assert report.verdict.findings == [], report
    assert report.verdict.reports > 0, report


def test_s33_the_same_with_two_gateways_on_the_store(tmp_path: Path):
    report = run_pair_storm(setting(), FEWER, tmp_path)
    assert report.verdict.findings == [], report
    assert report.verdict.reports > FEWER / 50, report
