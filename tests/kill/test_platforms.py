"""A server with accounts on four platforms that is killed again and again loses, doubles and misplaces nothing."""

import re
from pathlib import Path

import pytest

from tests.kill.platforms.record import Moment
from tests.kill.platforms.stage import PLATFORMS
from tests.kill.platforms.storm import PlatformPlan, run_platform_storm
from tests.support.scale import scaled

KILLS = scaled(24, 10)


def test_nothing_is_lost_doubled_or_misplaced_on_four_platforms(tmp_path: Path) -> None:
    report = run_platform_storm(PlatformPlan(kills=KILLS, seed=7), tmp_path)
    assert report.verdict.findings == [], report
    assert report.kills.total() == KILLS
    assert report.answers.keys() == set(PLATFORMS), report
    assert report.kills.keys() != {"at random"}, report
    assert report.asked_again, report


def storm(folder: Path, defect: str, *moments: Moment, platforms: tuple[str, ...] = ("telegram",)) -> str:
    """The findings of a short storm on a server with a defect."""
    plan = PlatformPlan(
        kills=6 if moments else 1,
        platforms=platforms,
        at_random=0.0 if moments else 1.0,
        life=(6.0, 6.0),
        moments=moments,
        rest=10.0,
        faults=0.0 if moments else 1.0,
        defect=defect,
    )
    return "\n".join(run_platform_storm(plan, folder).verdict.findings)


@pytest.mark.slow
def test_an_adapter_that_claims_a_key_answers_twice(tmp_path: Path) -> None:
    assert re.search(r"was answered \d+ times", storm(tmp_path, "ClaimsAKey", Moment.ACCEPTED, Moment.ANSWERED))


@pytest.mark.slow
def test_an_adapter_that_resends_after_a_reset_answers_twice(tmp_path: Path) -> None:
    assert re.search(r"was answered \d+ times", storm(tmp_path, "ResendsAfterAReset"))


@pytest.mark.slow
def test_a_cursor_that_moves_before_the_message_is_safe_loses_it(tmp_path: Path) -> None:
    assert "was lost" in storm(tmp_path, "AcksEarly", Moment.CONFIRMED)


@pytest.mark.slow
def test_an_answer_in_the_room_above_is_found(tmp_path: Path) -> None:
    assert "was answered elsewhere" in storm(tmp_path, "PostsToTheParent", platforms=("telegram", "discord"))


@pytest.mark.slow
def test_a_doubt_about_what_is_known_is_found(tmp_path: Path) -> None:
    assert "the gateway could know" in storm(tmp_path, "DoubtsWhatItKnows")
