"""A gateway and its standby on one PostgreSQL server, with people on four wires and over HTTP, under blows."""

from pathlib import Path

import pytest

from tests.kill.served.chats import run_chats_storm
from tests.kill.served.twins import Blows, Outages
from tests.kill.served.wires import run_wires_storm
from tests.support.postgres import need_server
from tests.support.scale import run_nightly, scaled

#: seconds within which people are served again: after a kill, and after anything else beside the lease
KILLED, ELSE = 2.0, 2.0


def blows() -> Blows:
    if run_nightly():
        return Blows(kills=200, freezes=50, restarts=30, cuts=50)
    return Blows(kills=scaled(8, 3), freezes=1, restarts=scaled(2, 1), cuts=scaled(4, 2))


def check(outages: Outages, asked: Blows) -> None:
    """Each blow was struck as often as asked for, and people were served again in time."""
    found = {kind: len(took) for kind, took in outages.by_kind.items()}
    kills = found.pop("kill", 0) + found.pop("kill too soon", 0)
    assert kills == asked.kills
    wanted = {"freeze": asked.freezes, "restart": asked.restarts, "cut": asked.cuts}
    assert found == {kind: count for kind, count in wanted.items() if count}
    assert outages.longest("kill") < KILLED, outages
    for kind in ("kill too soon", *found):
        assert outages.longest(kind) < asked.lasts + ELSE, outages


@pytest.fixture(autouse=True)
def needs_server() -> None:
    need_server()


def test_people_on_four_wires_lose_nothing(tmp_path: Path) -> None:
    report = run_wires_storm(blows(), tmp_path, seed=11)
    assert report.verdict.findings == [], report
    check(report.outages, blows())


def test_people_who_chat_over_http_lose_nothing(tmp_path: Path) -> None:
    report = run_chats_storm(blows(), tmp_path, seed=12)
    assert report.findings == [], report
    check(report.outages, blows())


@pytest.mark.nightly
def test_with_the_default_times_a_killed_process_is_replaced_as_soon(tmp_path: Path) -> None:
    asked = Blows(kills=10, cuts=10, lease=None)
    report = run_wires_storm(asked, tmp_path, seed=13)
    assert report.verdict.findings == [], report
    check(report.outages, asked)
