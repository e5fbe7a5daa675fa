"""A server that is killed again and again, under load over HTTP and WebSocket, loses, doubles and misplaces nothing."""

from pathlib import Path

from tests.kill.http.storm import run_http_storm
from tests.support.scale import scaled

KILLS, PEOPLE = scaled(60, 10), 50


def test_nothing_is_lost_doubled_or_misplaced_over_http(tmp_path: Path) -> None:
    report = run_http_storm(KILLS, tmp_path, people=PEOPLE, seed=7)
    assert report.findings == [], report
    assert report.kills == KILLS
    assert report.messages > PEOPLE, report
    assert report.repeats > PEOPLE, report
