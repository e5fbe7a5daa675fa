"""The lines of what happens on the wire."""

import pytest

from trunkline.app.fakes.program import LiveLines
from trunkline.sim import run_scenario
from trunkline.sim.scenario import load_text

FILE = """
scenario: 1
title: a long text
world: {{people: [ana], telegram: {{rooms: [ops]}}}}
cast: {{agents: {{main: [{{do: [{{reply: "yes"}}]}}]}}}}
script: [{{at: 0s, as: ana, in: ops, say: "{text}"}}]
"""


@pytest.mark.slow
def test_a_text_of_a_stranger_fills_no_more_than_some_lines(capsys: pytest.CaptureFixture[str]) -> None:
    lines = LiveLines()
    lines.begin()
    for event in run_scenario(load_text(FILE.format(text=r"\e[31mred " + "A" * 1_000_000))).trace.events:
        lines.show(event)
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    (said,) = [line for line in printed.splitlines() if "ana says" in line]
    assert "red AAA" in said
    assert max(len(line) for line in printed.splitlines()) < 600
