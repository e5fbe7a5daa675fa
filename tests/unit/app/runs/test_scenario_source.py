"""Scenarios as the app finds and runs them."""

import pytest

from trunkline.app.runs.scenario_source import SimSource
from trunkline.core.errors import UsageError
from trunkline.sim import scenario_home


def test_what_only_attach_plays_names_the_command_that_plays_it() -> None:
    path = scenario_home() / "attach" / "killed-when-asked.yaml"
    source = SimSource([path])
    with pytest.raises(UsageError) as caught:
        source.run(source.scenarios()[0], seed=1, bugs=())
    assert "killed-when-asked is for gateways that are not ours: trunkline attach " in caught.value.facts


def test_what_both_play_runs() -> None:
    source = SimSource([scenario_home() / "attach" / "plain.yaml"])
    assert source.run(source.scenarios()[0], seed=1, bugs=()).holds
