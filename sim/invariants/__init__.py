"""The invariants: one checker each, run over the events of a trace (catalogue: docs/invariants.md).

Each class with an `id` in a module below is one of them: there is no list to forget it in. The id is in its docstring.
"""

from collections.abc import Iterable, Sequence

from trunkline.core.declared import classes_in
from trunkline.core.events import Event
from trunkline.sim.index.bot_messages import has_own_words
from trunkline.sim.invariants.base import Checker, EvidenceKind, Judge, Status, Verdict, Violation, cited

#: the first letters of ids, in the order of the catalogue; other letters come after them
_FAMILIES = "DLRSMOBPCHVATWEK"


def _place(kind: type[Checker]) -> tuple[bool, int, str, int]:
    """The place of a checker in the catalogue: those of the wire side come last."""
    letter, number = kind.id[0], int(kind.id[1:])
    return kind.wire_side, _FAMILIES.find(letter) % 100, letter, number


#: every checker, in the order of the catalogue
CHECKERS: tuple[type[Checker], ...] = tuple(sorted(classes_in(__path__, __name__, Checker, "id"), key=_place))
if not CHECKERS:
    raise ImportError("Python runs with -OO, and without docstrings no invariant is known: run it without")

#: the checkers of runs of which only the wire is known
WIRE_SIDE_CHECKERS = tuple(checker for checker in CHECKERS if checker.wire_side)

#: ids of all invariants that are checked
INVARIANTS: tuple[str, ...] = tuple(checker.id for checker in CHECKERS)

#: invariant -> what its evidence is
EVIDENCE: dict[str, EvidenceKind] = {checker.id: checker.evidence for checker in CHECKERS}


def judge(events: Iterable[Event], checkers: Sequence[type[Checker]] = CHECKERS) -> tuple[Verdict, ...]:
    """The verdicts on a recorded run. Raises `PluginError` of a checker of a plug-in that raises."""
    every = tuple(events)
    judging = Judge(checkers, own_words=has_own_words(every))
    for event in every:
        judging.see(event)
    judging.finish()
    return judging.verdicts()


__all__ = ["CHECKERS", "EVIDENCE", "INVARIANTS", "WIRE_SIDE_CHECKERS", "Checker", "EvidenceKind", "Judge", "Status"]
__all__ += ["Verdict", "Violation", "cited", "judge"]
