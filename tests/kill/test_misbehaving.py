"""Every part misbehaves while processes are killed: nothing is lost or doubled, and nothing is given up too early.

Deliveries are as bounded as by default: attempts that were never made must not use up the limit.
"""

import msgspec
import pytest

from tests.kill.nonsense import Nonsense
from tests.kill.pair_storm import run_pair_storm
from tests.kill.stage import Setting, misbehaving
from tests.kill.storm import Plan, run_storm
from tests.support.scale import scaled
from trunkline import Idempotency

SEED = 4
KILLS = {Idempotency.KEY: scaled(220, 30), Idempotency.LOOKUP: scaled(60, 8), Idempotency.NONE: scaled(60, 12)}
#: of two processes, freezes beside them
PAIR_KILLS = scaled(60, 10)


def setting_of(idempotency: Idempotency) -> Setting:
    return misbehaving(Setting(seed=SEED, idempotency=idempotency))


@pytest.mark.parametrize("idempotency", Idempotency, ids=lambda one: one.value)
def test_one_process(tmp_path, idempotency):
    report = run_storm(Plan(kills=KILLS[idempotency], setting=setting_of(idempotency)), tmp_path)
    assert report.verdict.findings == [], report
    assert report.verdict.promises > KILLS[idempotency], report
    assert report.verdict.odd > 0, report
    if idempotency is not Idempotency.NONE:
        assert report.verdict.parked == [], report


def test_two_processes_and_freezes(tmp_path):
    report = run_pair_storm(setting_of(Idempotency.KEY), PAIR_KILLS, tmp_path)
    assert (report.verdict.findings, report.verdict.parked) == ([], []), report
    assert report.kills >= PAIR_KILLS
    assert report.verdict.odd > 0, report


def test_an_attempt_limit_that_a_bad_network_uses_up_is_found_out(tmp_path):
    setting = msgspec.structs.replace(
        setting_of(Idempotency.KEY), max_attempts=1, clients=0, nonsense=Nonsense(receipts=0.5)
    )
    report = run_storm(Plan(kills=6, setting=setting), tmp_path)
    assert report.verdict.findings, report
