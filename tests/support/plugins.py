"""A plug-in made for a test, and a scenario that runs with it."""

from typing import Any

from trunkline.core.decisions import plan_reply
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.plugins import SEAM, Bug, Checker, Plugin, Toolbox, deciding, on, toolbox
from trunkline.sim.scenario import ScenarioFile, load_text

SCENARIO = """\
scenario: 2
title: x
world: {{people: [ana], telegram: {{rooms: [ops]}}}}
cast:
  agents: {{main: [{{do: [{action}]}}]}}
  {more}
script:
  {fault}
  - {{at: 1s, as: ana, in: telegram/ops, say: first}}
  - {{at: 2s, as: ana, in: telegram/ops, say: second}}
"""


class Counted(Checker):
    id = "t.Q1"
    title = "Counted"
    sentence = "Everything is counted."

    @on(WireAccepted)
    def _accepted(self, _event: Any, _body: Any) -> None:
        self.exercised += 1


def bug(decide: Any = plan_reply, name: str = "t.bug", decision: str = "plan_reply") -> Bug:
    return Bug(name=name, sentence="A defect.", caught_by=("t.Q1",), install=deciding(decision)(decide))


def plugin(**parts: Any) -> Plugin:
    return Plugin(**{"name": "t", "seam": SEAM, **parts})


def tools(**parts: Any) -> Toolbox:
    return toolbox([plugin(**parts)])


def scenario(of: Toolbox, action: str = "{reply: 'you said {text}'}", fault: str = "", more: str = "") -> ScenarioFile:
    text = SCENARIO.format(action=action, fault=fault and f"- {{at: 0s, fault: {fault}}}", more=more)
    return load_text(text, names=of)
