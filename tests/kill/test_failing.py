"""A storm in which disk and memory of half of the processes fail, at any call, once or for good."""

import pytest

from tests.kill.stage import Setting
from tests.kill.storm import Plan, run_storm
from tests.support.scale import scaled

KILLS = scaled(24, 8)


def storm(folder, kills, seed):
    return run_storm(Plan(kills=kills, setting=Setting(seed=seed, failing=0.5)), folder)


def held(report, kills):
    assert report.verdict.findings == [], report
    assert report.verdict.parked == [], report
    assert report.verdict.promises > kills / 2, report
    # It was worth the trouble.
    assert report.failing > kills / 5, report


def test_nothing_is_lost_or_doubled_where_disk_and_memory_fail(tmp_path):
    held(storm(tmp_path, KILLS, seed=3), KILLS)


@pytest.mark.nightly
def test_nothing_is_lost_or_doubled_in_a_long_storm_where_disk_and_memory_fail(tmp_path):
    report = storm(tmp_path, 300, seed=77)
    held(report, 300)
    assert report.in_words >= 10, report
