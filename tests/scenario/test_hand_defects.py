"""The sixteen defects of the drafts of async hands have their stories and switches."""

from tests.support.for_each import for_each
from tests.support.scenario.own_defects import FILES, OWN_BUGS
from trunkline.sim import BUGS

#: the number of the defect in speech (D05): its stories are those of voice
OF_VOICE = "voice-any-active-call"
DEFECTS = [f"004-D{number:02}" for number in range(1, 17) if number != 5]


@for_each("defect", DEFECTS)
def test_each_defect_has_a_story_and_a_switch(defect):
    path = next(path for path in FILES if path.stem.startswith(defect))
    assert any(defect in BUGS[bug].reports for bug in FILES[path].scenario.bugs)
    assert FILES[path].scenario.source


def test_the_defect_of_voice_has_too():
    assert OF_VOICE in {bug for _, bug in OWN_BUGS}
