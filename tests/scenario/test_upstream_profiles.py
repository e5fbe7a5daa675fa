"""In an upstream profile, what our rules cannot judge is not exercised and says why; the rest is judged."""

import json

import pytest

from tests.support.paths import FIXTURES
from trunkline.sim import INVARIANTS, Status, load_scenario, run_scenario
from trunkline.sim.fuzz.generator import make_scenario
from trunkline.sim.fuzz.trial import try_tree
from trunkline.sim.plugins import OURS
from trunkline.sim.scenario import load_text

PROFILES = ["openclaw", "openclaw-2026-08"]
REPORTED = FIXTURES / "reported" / "verdict" / "M1-openclaw-profile.yaml"


def verdicts():
    file = load_scenario(REPORTED, names=OURS)
    return {verdict.id: verdict for verdict in run_scenario(file).verdicts}


def test_keys_and_scopes_are_not_judged_and_the_verdict_says_so():
    found = verdicts()
    for name in ("S1", "S3"):
        verdict = found[name]
        assert (verdict.status, verdict.exercised, verdict.violations) == (Status.NOT_EXERCISED, 0, ())
        assert verdict.note.startswith("not judged in profile openclaw")


def test_what_does_not_depend_on_keys_is_judged():
    found = verdicts()
    assert {found[name].status for name in ("D1", "L1", "M1")} == {Status.OK}
    assert found["M1"].note.startswith("the session of an entry: not judged")
    assert not found["D1"].note


def test_our_own_profile_has_no_such_note():
    file = load_scenario(FIXTURES / "reported" / "verdict" / "M1-scope-of-a-binding.yaml")
    assert [verdict.id for verdict in run_scenario(file).verdicts if verdict.note] == []


def test_a_second_entry_of_one_text_is_found_in_an_upstream_profile_too():
    tree = {
        "scenario": 1,
        "title": "mirrored twice upstream",
        "gateway": {"profile": "openclaw", "agents": [{"id": "main"}]},
        "world": {"people": {"ana": {}}, "discord": {}},
        "cast": {"agents": {"main": [{"do": [{"reply": "so {text}"}]}]}},
        "script": [{"at": "1s", "as": "ana", "in": "discord/@ana", "say": "hi"}],
    }
    assert try_tree(tree).findings == ()
    file = load_text(json.dumps(tree), "upstream.yaml")
    assert "M1" in {violation.invariant for violation in run_scenario(file, bugs=["two-writers"]).violations}


@pytest.mark.slow(every=50)
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("seed", range(1, 101))
def test_random_scenarios_violate_nothing(seed, profile):
    tree = make_scenario(seed)
    tree["gateway"]["profile"] = profile
    assert [finding for finding in try_tree(tree).findings if finding.kind in INVARIANTS] == []
