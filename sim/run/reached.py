"""The parts of a scenario that its run reaches: a fault that struck nothing, a rule that nobody used prove nothing."""

from collections.abc import Iterator, Sequence

import msgspec

from trunkline.core.config.files.problems import Path, dotted
from trunkline.core.events import EventSink
from trunkline.sim.events.script import ScriptMissed
from trunkline.sim.scenario import ScenarioFile
from trunkline.sim.scenario.model.hands import HandRule, WorkerRule
from trunkline.sim.scenario.model.scenario import AgentRule, Scenario


class _Part(msgspec.Struct):
    """A part of a scenario that its run is to reach."""

    path: Path
    may_miss: bool
    #: when it was disarmed, of a part of the script
    disarmed: float | None = None
    #: what came after that which it could have struck, and when
    later: tuple[str, float] | None = None


class ReachedParts:
    """The parts of a strict scenario that its run has not reached yet. The parts are known by their identity."""

    def __init__(self, file: ScenarioFile) -> None:
        self._file = file
        strict = file.strict
        self._left = {id(part): _Part(path, may_miss) for path, part, may_miss in parts_of(file.scenario) if strict}

    def note(self, part: object) -> None:
        """Note that a part was reached."""
        self._left.pop(id(part), None)

    def disarm(self, part: object, at: float) -> None:
        """Note when an armed part was disarmed."""
        if (left := self._left.get(id(part))) is not None and left.disarmed is None:
            left.disarmed = at

    def note_late(self, part: object, what: str, at: float) -> None:
        """Note something that a part could have struck, had it still been armed."""
        if (left := self._left.get(id(part))) is not None and left.later is None:
            left.later = what, at

    def forget(self) -> None:
        """Ask for nothing more: something that the scenario does not have keeps its parts from being reached."""
        self._left.clear()

    def record(self, events: EventSink) -> None:
        """Record each part that was not reached, unless the scenario says that it may be missed."""
        missed: list[Path] = []
        for left in self._left.values():
            # What a step that never came would have armed is said once.
            if left.may_miss or left.path[:2] in missed:
                continue
            if left.path[0] == "script":
                missed.append(left.path[:2])
            line, (later, at) = self._file.line_of(left.path), left.later or ("", None)
            part = dotted(left.path)
            events.record(ScriptMissed(part=part, line=line, disarmed=left.disarmed, later=later, later_at=at))


def parts_of(scenario: Scenario) -> Iterator[tuple[Path, object, bool]]:
    """The parts of a scenario that a run is to reach: the path, the part itself, and whether it may be missed."""
    for index, step in enumerate(scenario.script):
        may, path = bool(step.may_miss), ("script", index)
        if step.when is not None:
            yield (*path, "when"), step.when, may
        if step.fault is not None:
            yield (*path, "fault"), step.fault, may
        for name in ("crash", "restart", "freeze"):
            inside = getattr(step, name)
            if inside is not None and inside.when is not None:
                yield (*path, name), inside.when, may
    cast = scenario.cast
    every: dict[Path, Sequence[AgentRule | HandRule | WorkerRule]] = {
        **{("agents", name): rules for name, rules in cast.agents.items()},
        **{("hands", name): rules for name, rules in cast.hands.items()},
        **{("workers", name, "rules"): worker.rules for name, worker in cast.workers.items()},
    }
    for place, rules in every.items():
        for index, rule in enumerate(rules):
            yield ("cast", *place, index), rule, bool(rule.may_miss)
    for name, hook in cast.hooks.items():
        yield ("cast", "hooks", name), hook, bool(hook.may_miss)
