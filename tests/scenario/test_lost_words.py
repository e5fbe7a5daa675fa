"""When each answer loses its last word, an invariant says so, whatever the scenario is about."""

from tests.support.scale import scaled
from tests.support.scenario.own_defects import FILES, sound_run
from trunkline.sim import Status, run_scenario
from trunkline.sim.run.result import RunResult

BUG = "answers-lose-their-last-word"
#: a table of every scenario, or of every so many
EVERY = scaled(1, 12)


def shown(result: RunResult) -> list[object]:
    """What people see in a run."""
    return [event.body for event in result.trace.events if event.kind == "wire.accepted"]


def test_each_answer_that_loses_its_last_word_is_noticed_wherever_people_see_it() -> None:
    changed: list[str] = []
    unseen: list[str] = []
    for path in list(FILES)[::EVERY]:
        defect = run_scenario(FILES[path], bugs=[BUG])
        if shown(defect) == shown(sound_run(path)):
            continue
        changed.append(path.stem)
        if not any(verdict.status is Status.VIOLATED for verdict in defect.verdicts):
            unseen.append(path.stem)
    assert unseen == []
    assert len(changed) >= scaled(170, 10)
