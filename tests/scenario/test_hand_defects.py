"""The sixteen defects of the drafts of async hands, and what only the checkers of hands can see."""

import pytest

from tests.support.scenario.own_defects import FILES, OWN_BUGS, defect_run
from trunkline.sim import BUGS, INVARIANTS, Status

#: the number of the defect in speech (D05): its stories are those of voice
OF_VOICE = "voice-any-active-call"
DEFECTS = [f"004-D{number:02}" for number in range(1, 17) if number != 5]
OF_HANDS = [invariant for invariant in INVARIANTS if invariant.startswith("C")]


def caught(path, bug) -> set[str]:
    return {verdict.id for verdict in defect_run(path, bug).verdicts if verdict.status is Status.VIOLATED}


@pytest.mark.parametrize("defect", DEFECTS)
def test_each_defect_has_a_story_and_a_switch(defect):
    path = next(path for path in FILES if path.stem.startswith(defect))
    assert any(defect in BUGS[bug].reports for bug in FILES[path].scenario.bugs)
    assert FILES[path].scenario.source


def test_the_defect_of_voice_has_too():
    assert OF_VOICE in {bug for _, bug in OWN_BUGS}


@pytest.mark.parametrize("invariant", OF_HANDS)
def test_each_checker_of_hands_sees_something_that_no_other_one_does(invariant):
    alone = [bug for path, bug in OWN_BUGS if invariant in BUGS[bug].caught_by and caught(path, bug) == {invariant}]
    assert alone
