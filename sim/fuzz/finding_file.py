"""A finding as a small file for a reader, with a sentence and the command to repeat the run."""

from collections.abc import Sequence

from trunkline.core.errors import TrunklineError
from trunkline.sim.fuzz.generator import Tree
from trunkline.sim.fuzz.oracle import ORACLE_KINDS
from trunkline.sim.fuzz.shrink import BUDGET, ShrinkSearch, Shrunk
from trunkline.sim.fuzz.trial import OWN_KINDS, FuzzFinding, try_tree
from trunkline.sim.invariants import CHECKERS
from trunkline.sim.scenario.edit import text_of

#: a run of a candidate that is much longer than that of the finding counts as another one
_STEPS = 400_000
_ORDER = ("scenario", "title", "bugs", "breaks", "with_bugs", "seed", "gateway", "world", "stored", "cast", "script")
_LONGEST = 110
_TITLES = {**{checker.id: checker.title for checker in CHECKERS}, **OWN_KINDS}


def shrink_finding(tree: Tree, finding: FuzzFinding, bugs: Sequence[str] = (), *, budget: int = BUDGET) -> Shrunk:
    """The smallest scenario found with the same finding.

    What is found with bug switches must not be there without them, if it was not before: then the switch is its cause.
    """
    expected = finding.kind == "EXPECTED"

    def found(candidate: Tree, switches: Sequence[str]) -> bool:
        trial = try_tree(candidate, switches, expected=expected, max_steps=_STEPS)
        return trial.has(finding.cause)

    alone = bool(bugs) and not _is_found_without(tree, finding)
    return ShrinkSearch(tree, lambda less: found(less, bugs) and not (alone and found(less, ())), budget).shrink()


def _is_found_without(tree: Tree, finding: FuzzFinding) -> bool:
    try:
        return try_tree(tree, expected=finding.kind == "EXPECTED").has(finding.cause)
    except TrunklineError:
        return False


def sentence(kind: str) -> str:
    """The title of a kind of finding."""
    return _TITLES[kind]


def finding_text(tree: Tree, finding: FuzzFinding, bugs: Sequence[str], *, found_by: str, name: str) -> str:
    """The text of the file of a finding. `name`: the file itself; `found_by`: the command that found it."""
    shown = try_tree(tree, bugs, expected=finding.kind == "EXPECTED").findings
    finding = next((of for of in shown if of.cause == finding.cause), finding)
    summary = " ".join(finding.summary.split())
    title = f"{finding.kind}: {summary}"
    made: Tree = {**tree, "title": title if len(title) <= _LONGEST else f"{title[: _LONGEST - 1]}…"}
    broken = sorted({of.kind for of in shown} - OWN_KINDS.keys())
    if bugs and broken:
        made |= {"bugs": list(bugs), "breaks": broken}
    options = "".join(f" --bug {bug}" for bug in bugs)
    again = f"trunkline run {name}{options}"
    if finding.kind in ORACLE_KINDS:
        # Only the oracle of random scenarios says so.
        again = f"trunkline fuzz --time 0s --corpus {name.rpartition('/')[0] or '.'}{options}"
    remark = f"{finding.kind} {sentence(finding.kind)}: {summary}\nfound by  {found_by}\nrepeat    {again}"
    first = {part: made[part] for part in _ORDER if part in made}
    return text_of({**first, **made}, remark=_printable(remark))


def _printable(text: str) -> str:
    """A remark without invisible characters."""
    return "".join(char if char.isprintable() or char == "\n" else "\N{REPLACEMENT CHARACTER}" for char in text)
