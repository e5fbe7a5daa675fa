"""The known defects: bug switches with their public reports, the scenarios that show them, and what people notice."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast, get_args

import msgspec

from trunkline.core.config.files.yaml_reader import parse, read_text
from trunkline.sim import BUGS, find_scenarios, scenario_home
from trunkline.sim.bugs import Bug
from trunkline.sim.invariants import CHECKERS
from trunkline.sim.invariants.base import Symptom
from trunkline.sim.scenario.load import ScenarioReport
from trunkline.sim.scenario.step_rules import items, listed

#: what people notice -> the invariants that a defect of this kind violates; an invariant may be among several
SYMPTOMS = {
    symptom: tuple(checker.id for checker in CHECKERS if symptom in checker.symptoms) for symptom in get_args(Symptom)
}


class ShownBy(msgspec.Struct, frozen=True, kw_only=True):
    """A scenario that comes with Trunkline and shows a defect."""

    #: as commands take it, also where there is no clone
    path: Path
    title: str
    #: the public report that it retells; empty for none
    source: str


class KnownDefect(msgspec.Struct, frozen=True, kw_only=True):
    bug: Bug
    shown_by: tuple[ShownBy, ...]

    @property
    def symptoms(self) -> tuple[str, ...]:
        return symptoms_of(self.bug.caught_by)

    @property
    def reports(self) -> tuple[str, ...]:
        """The public reports of it, if any: ids of the catalogue, then what its scenarios retell of them."""
        sources = (shown.source for shown in self.shown_by if shown.source and self.bug.reports)
        return tuple(dict.fromkeys((*self.bug.reports, *sources)))

    def as_builtins(self) -> dict[str, Any]:
        """A row of the list that `trunkline bugs` reads, and of JSON reports."""
        return {
            "bug": self.bug.name,
            "sentence": self.bug.sentence,
            "caught_by": self.bug.caught_by,
            "symptoms": self.symptoms,
            "reports": self.reports,
            "scenarios": [shown.path.as_posix() for shown in self.shown_by],
            **({"origin": self.bug.origin} if self.bug.origin else {}),
        }


def symptoms_of(invariants: Sequence[str]) -> tuple[str, ...]:
    """The symptoms that people notice where these invariants are violated."""
    return tuple(symptom for symptom, ids in SYMPTOMS.items() if any(own in ids for own in invariants))


def known_defects(bugs: Mapping[str, Bug] = BUGS) -> tuple[KnownDefect, ...]:
    """Every bug switch, in the order of the catalogue. Of the scenarios only the head is read, which is quick."""
    shown: defaultdict[str, list[ShownBy]] = defaultdict(list)
    home = scenario_home()
    for path in find_scenarios((home,)):
        report = ScenarioReport(str(path))
        tree = parse(read_text(report, "a scenario file"), report, begin="")
        title, source = (cast("str", items(tree, name) or "") for name in ("title", "source"))
        for bug in listed(tree, "bugs"):
            named = Path("scenarios") / path.relative_to(home)
            shown[str(bug)].append(ShownBy(path=named, title=title, source=source))
    return tuple(KnownDefect(bug=bug, shown_by=tuple(shown[bug.name])) for bug in bugs.values())
