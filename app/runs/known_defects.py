"""The known defects: bug switches with their public reports, the scenarios that show them, and what people notice."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from trunkline.core.config.files.yaml_reader import parse, read_text
from trunkline.sim import BUGS, find_scenarios, scenario_home
from trunkline.sim.bugs import Bug
from trunkline.sim.scenario.load import ScenarioReport
from trunkline.sim.scenario.step_rules import items, listed

#: what people notice -> the invariants that a defect of this kind violates; an invariant may be among several
SYMPTOMS = {
    "twice": ("D1", "D2", "D3", "D4", "D5", "D7", "A1", "H2", "M1", "T1"),
    "lost": (
        *("L1", "L2", "L3", "L4", "L7", "C4", "C5", "C6", "M2", "V1", "T1", "T2", "T5", "T6"),
        *("E1", "E2", "E3", "E4", "W1", "W2"),
    ),
    "late": ("L5", "L6", "O1", "H4", "H6", "S4"),
    "wrong place": ("R1", "R2", "R3", "R4", "B1", "C3", "V2", "H5", "H7", "A2", "A3", "S6"),
    "leaked": ("P1", "P3", "P4", "P5", "C1", "C9", "S3", "T3"),
    "forgot": ("S1", "S4", "S6", "M1", "M2", "B2", "C2", "C8", "W3"),
    "unasked": ("D8", "H1", "H3", "K1", "P2", "C7", "C10", "T6"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownBy:
    """A scenario that comes with Trunkline and shows a defect."""

    #: as commands take it, also where there is no clone
    path: Path
    title: str
    #: the public report that it retells; empty for none
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownDefect:
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
