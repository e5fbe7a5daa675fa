"""Errors belong to their makers: E1."""

import re

from trunkline.core.events import BODIES, Event
from trunkline.core.events.gateway import TurnEnded
from trunkline.core.reasons import Reason
from trunkline.sim.events.actions import AgentTold
from trunkline.sim.events.hands import AgentAnswered
from trunkline.sim.events.processes import ProcessCrashed
from trunkline.sim.events.script import ScriptSkipped
from trunkline.sim.index.projection import on
from trunkline.sim.index.run_facts import RunFacts
from trunkline.sim.invariants.base import Checker

#: errors by which code shows that it is wrong; what is refused has an error of its own
_WRONG_CODE = re.compile(
    r"(?:^|: )((?:Attribute|Type|Name|UnboundLocal|Key|Index|Assertion|ZeroDivision|Recursion|NotImplemented)"
    r"Error|ValidationError)\b"
)
_REFUSED = "what was asked for, or a refusal that says what is wrong with it"
#: events of the gateway that say why something did not happen
_SAY_WHY = tuple(
    body
    for _, body in sorted(BODIES.items())
    if body.recorded_by == "gateway" and "detail" in body.__struct_fields__ and body is not TurnEnded
)
#: ends of a turn that need no agent: it never came to an answer, in any process
_WITHOUT_AGENT = (Reason.RUNS_EXHAUSTED,)


class NoErrorOfItsOwn(Checker):
    """E1: the gateway fails by what others do. Costs one search for each event that has a detail."""

    id = "E1"
    title = "No error of its own"
    sentence = (
        "A turn fails only if its agent did, and whatever a program, a tool, a platform or a process gets as an error "
        "is a refusal or a failure of somebody else, never an error of the gateway's code."
    )

    @on(AgentAnswered)
    def _answered(self, event: Event, body: AgentAnswered) -> None:
        self._look(event, body.failed, f"a tool of {body.agent} raises")

    @on(AgentTold)
    def _told(self, event: Event, body: AgentTold) -> None:
        self.exercised += 1
        if body.status == "raised":
            self.accuse(event, f"the call {body.action} of an agent raises {body.detail}", _REFUSED)

    @on(ScriptSkipped)
    def _skipped(self, event: Event, body: ScriptSkipped) -> None:
        self._look(event, body.why, f"{body.step} raises")

    @on(ProcessCrashed)
    def _crashed(self, event: Event, body: ProcessCrashed) -> None:
        self._look(event, body.why, "the process ends by itself with")

    @on(*_SAY_WHY)
    def _says_why(self, event: Event, body: object) -> None:
        if detail := getattr(body, "detail", ""):
            self._look(event, detail, f"{event.kind} has")

    def _look(self, event: Event, why: str, what: str) -> None:
        if why and _WRONG_CODE.search(why):
            self.accuse(event, f"{what} {why}", _REFUSED)

    @on(TurnEnded)
    def _ended(self, event: Event, body: TurnEnded) -> None:
        if self.run.limits is None or not self.run.limits.config or body.outcome != "failed":
            return
        self.exercised += 1
        answers = self.run.speech.answers.get(event.turn or "")
        returned = answers[-1].body if answers else None
        failed = isinstance(returned, AgentAnswered) and (returned.failed or is_too_long(self.run, returned.text))
        if not failed and body.reason not in _WITHOUT_AGENT:
            how = "did not fail" if answers else "was not asked"
            self.accuse(event, f"{event.turn} fails, and its agent {how}: {body.reason} {body.detail}", _REFUSED)


def is_too_long(run: RunFacts, text: str | None) -> bool:
    """Whether a text is longer than the configuration allows any to be."""
    return run.config is not None and len(text or "") > run.config.delivery.max_text
