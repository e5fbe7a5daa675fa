"""Plays a scenario and says what is wrong with the run: an invariant, the oracle, or the run itself."""

import hashlib
import json
import re
import traceback
from collections import Counter
from collections.abc import Sequence

import msgspec

from trunkline.core.events import Event, Trace, base, delivery, encode_trace, gateway
from trunkline.sim.events import script, wire
from trunkline.sim.events.processes import ProcessCrashed
from trunkline.sim.fuzz.generator import Tree, make_scenario
from trunkline.sim.fuzz.oracle import ORACLE_KINDS, errors_of
from trunkline.sim.run.expectations import check_expectations
from trunkline.sim.run.runner import STILL_FED, PlayedRun, bugs_of, header_of, play
from trunkline.sim.scenario import ScenarioFile, load_text
from trunkline.sim.scenario.names import PluginError
from trunkline.sim.store.server import AWAY
from trunkline.sim.store.store_reuse import ReusableStore

#: ends of a process that are no defect
_MEANT = ("LeaseLost", "crash at ")
_NUMBER = re.compile(r"\d+")
#: of so many seeds the first is played twice
TWICE_EVERY = 20
#: steps of the loop after which a run counts as endless
MAX_STEPS = 3_000_000
#: what findings are called that are no violated invariants
OWN_KINDS = {
    "ERROR": "the run raises an error",
    "DIED": "a process dies of an error",
    "REST": "the run does not come to rest",
    **ORACLE_KINDS,
    "TWICE": "the same scenario and seed give another trace",
    "EXPECTED": "an expectation of the file is missed",
}


class FuzzFinding(msgspec.Struct, frozen=True, kw_only=True):
    """An error of a run. Findings of equal kind and culprit have the same cause, as far as can be known."""

    #: the violated invariant, or one of `OWN_KINDS`
    kind: str
    #: the kind of the event where the run went wrong; of an error its type and place
    culprit: str
    summary: str

    @property
    def cause(self) -> tuple[str, str]:
        return self.kind, self.culprit


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """The findings of a run, and its counters."""

    findings: tuple[FuzzFinding, ...]
    #: how many events of some kinds there were
    counts: dict[str, int] = msgspec.field(default_factory=dict[str, int])
    #: a hash of the trace, where it was asked for
    digest: str = ""

    def has(self, cause: tuple[str, str]) -> bool:
        return any(finding.cause == cause for finding in self.findings)


_spare = ReusableStore()


def try_tree(
    tree: Tree, bugs: Sequence[str] = (), *, expected: bool = False, digest: bool = False, max_steps: int = MAX_STEPS
) -> Trial:
    """Play a scenario given as plain values; the oracle judges it too. Raises `ScenarioError` if it is none."""
    text = json.dumps(tree, ensure_ascii=False)
    file = load_text(text, "random.yaml")
    return try_file(file, bugs, text=text, expected=expected, digest=digest, max_steps=max_steps)


def try_file(
    file: ScenarioFile,
    bugs: Sequence[str] = (),
    *,
    text: str = "",
    expected: bool = False,
    digest: bool = False,
    max_steps: int = MAX_STEPS,
) -> Trial:
    """Play a scenario; any error of the run is a finding.

    `text` is the scenario as JSON, for the oracle. `expected`: its expectations are judged as well. `digest`: the trial
    has a hash of the trace.
    """
    try:
        played = play(file, seed=file.scenario.seed, bugs=bugs_of(file, bugs), max_steps=max_steps, spare=_spare)
    except PluginError:
        raise
    except Exception as error:  # noqa: BLE001 -- any error of a run is a finding
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{type(error).__name__} {last.filename.rpartition('/')[2]} {last.name}"
        return Trial(findings=(FuzzFinding(kind="ERROR", culprit=where, summary=str(error)),))
    found = dict[tuple[str, str], FuzzFinding]()
    for finding in (*_violations(played), *_own_findings(file, played, text)):
        found.setdefault(finding.cause, finding)
    if expected:
        for unmet in check_expectations(file, played.events, played.judge.verdicts()):
            culprit = _NUMBER.sub("N", unmet.summary)
            finding = FuzzFinding(kind="EXPECTED", culprit=culprit, summary=unmet.summary)
            found.setdefault(finding.cause, finding)
    trace = encode_trace(Trace(header=header_of(file), events=played.events)) if digest else b""
    own = hashlib.sha256(trace).hexdigest() if digest else ""
    return Trial(findings=tuple(found.values()), counts=_counts(played.events), digest=own)


def try_seed(seed: int, focus: str = "", bugs: Sequence[str] = ()) -> Trial:
    """Play the scenario of a seed; every so many seeds twice, which must give the same bytes."""
    tree, twice = make_scenario(seed, focus), seed % TWICE_EVERY == 1
    first = try_tree(tree, bugs, digest=twice)
    if twice and first.digest and try_tree(make_scenario(seed, focus), bugs, digest=True).digest != first.digest:
        again = FuzzFinding(kind="TWICE", culprit="", summary="the second run gave another trace")
        return msgspec.structs.replace(first, findings=(*first.findings, again))
    return first


def _violations(played: PlayedRun) -> list[FuzzFinding]:
    events = {event.seq: event for event in played.events}
    made = list[FuzzFinding]()
    for violation in played.judge.violations():
        blamed = events.get(violation.at if violation.blamed is None else violation.blamed)
        culprit = "" if blamed is None else blamed.body.kind
        made.append(FuzzFinding(kind=violation.invariant, culprit=culprit, summary=violation.summary))
    return made


def _own_findings(file: ScenarioFile, played: PlayedRun, text: str) -> list[FuzzFinding]:
    made = list[FuzzFinding]()
    meant = file.scenario.cast.takes_gateway_down
    for event in played.events:
        body = event.body
        if not isinstance(body, ProcessCrashed) or event.cause is not None or meant:
            continue
        # No process begins, or goes on for long, without its server.
        if not body.why.startswith(_MEANT) and not body.why.endswith(AWAY):
            where = " < ".join(reversed(body.frames[-2:]))
            made.append(FuzzFinding(kind="DIED", culprit=body.why.partition("(")[0], summary=f"{body.why} {where}"))
    ended = played.events[-1].body
    if not (isinstance(ended, base.RunEnded) and (ended.at_rest or ended.cut.endswith(STILL_FED))):
        left = ", ".join(ended.open) if isinstance(ended, base.RunEnded) else "no end"
        made.append(FuzzFinding(kind="REST", culprit="", summary=f"open: {left}"))
    if text:
        by_seq = {event.seq: event.body.kind for event in played.events}
        made += [
            FuzzFinding(kind=k, culprit=by_seq[seq], summary=said) for k, seq, said in errors_of(text, played.events)
        ]
    return made


#: kind of event -> what its number is called
_COUNTED = {
    wire.WireAccepted.kind: "sends that reached a platform",
    script.FaultFired.kind: "faults that struck",
    ProcessCrashed.kind: "crashes",
    gateway.TurnEnded.kind: "turns",
    delivery.IntentSettled.kind: "intents settled",
}


def _counts(events: Sequence[Event]) -> dict[str, int]:
    count = Counter(_COUNTED[event.kind] for event in events if event.kind in _COUNTED)
    return {"events": len(events), **count}
