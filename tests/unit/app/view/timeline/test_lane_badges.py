"""Over a lane: who reads there, and which token its account speaks with at the cursor."""

from tests.support.app.author import ANA, OPS, Author
from tests.support.app.traces import bound_completion, verdicts
from trunkline.app.runs.model import Run
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.rows.lanes import TimelineLanes
from trunkline.sim import load_scenario, run_scenario, scenario_home
from trunkline.sim.events.world import PeerSaid


def stale(*bugs: str) -> RunView:
    return RunView(run_scenario(load_scenario(scenario_home() / "faults" / "stale-token.yaml"), seed=1, bugs=bugs))


def badges(view: RunView) -> list[str]:
    """What stands there over the whole run, each once."""
    tokens = TimelineLanes(view).tokens
    account = ("discord", "default")
    return list(dict.fromkeys(tokens.badge(account, event.seq, event.at) for event in view.events))


def test_the_newest_token_is_shown_from_the_moment_that_the_gateway_has_it():
    assert badges(stale()) == ["tok#1", "tok#2", "tok#3"]
    assert not any(badge.endswith("!") for badge in badges(stale()))


def test_a_request_with_an_older_one_than_it_was_given_is_marked():
    found = badges(stale("stale-token"))
    assert found[0] == "tok#1" and "tok#1!" in found


def test_where_no_token_was_changed_nothing_is_reported():
    view = RunView(bound_completion())
    assert TimelineLanes(view).tokens.badge(("discord", "main"), view.last, 9.0) == ""


def test_lanes_say_who_reads_there():
    lanes = TimelineLanes(RunView(bound_completion()))
    assert {lane.label: lane.audience for lane in lanes.all if lane.place} == {
        "#ops": "public",
        "deploy": "public",
        "audit": "public",
        "#random": "public",
        "@bo": "dm",
    }
    assert lanes.several_audiences


def test_where_all_places_have_the_same_readers_it_is_not_reported():
    author = Author()
    author.world([(OPS, "ops", None)])
    author.platform(OPS).record(PeerSaid(address=OPS, peer=ANA, message_id="1", text="hello"))
    lanes = TimelineLanes(RunView(Run(trace=author.trace("one", title=""), verdicts=verdicts())))
    assert not lanes.several_audiences
