"""What `y` offers, without a screen."""

from tests.support.app.listed_runs import ENTRIES, ListedRuns
from trunkline.app.view.explain.explanation import as_text, copy_choices, event_line, explain, ids_of, reproduction
from trunkline.app.view.index.run_index import RunView
from trunkline.core.events.delivery import IntentPrepared
from trunkline.sim.events.script import RunPhase

RUN = ListedRuns().run(ENTRIES[0], seed=7, bugs=ENTRIES[0].bugs)
VIEW = RunView(RUN)


def test_before_anything_happened_only_the_command():
    (only,) = copy_choices(VIEW, 0)
    assert (only.key, only.text) == ("c", reproduction(RUN.trace.header))


def test_every_event_offers_row_decision_id_and_command():
    for seq in range(1, VIEW.last + 1):
        found = copy_choices(VIEW, seq)
        assert [one.key for one in found if one.key] == ["r", "d", "i", "c"]
        assert all(one.text for one in found)
        assert found[0].text == event_line(VIEW, seq)


def test_the_row_of_the_screen_goes_before_that_of_the_event():
    assert copy_choices(VIEW, 3, "what is selected")[0].text == "what is selected"
    assert copy_choices(VIEW, 0, "what is selected")[0].key == "r"


def test_the_intent_is_the_most_specific_id():
    event = next(one for one in VIEW.events if isinstance(one.body, IntentPrepared))
    names = [name for name, _ in ids_of(VIEW, event.seq)]
    assert names[0] == "intent" and dict(ids_of(VIEW, event.seq))["intent"] == event.intent


def test_an_event_without_ids_goes_by_its_number():
    event = next(one for one in VIEW.events if isinstance(one.body, RunPhase))
    assert list(ids_of(VIEW, event.seq)) == [("event", str(event.seq))]


def test_the_decision_is_the_why_pane_as_text():
    why = explain(VIEW, VIEW.last)
    lines = as_text(why.title, why.lines).splitlines()
    assert lines[0] == why.title and len(lines) == len(why.lines) + 1
    assert all(fact.text in line for fact, line in zip(why.lines, lines[1:], strict=True))
