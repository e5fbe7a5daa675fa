"""Explorations as text and as JSON: a line per scenario, a block per finding, and a summary."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from trunkline.app.report.explain import some_fields
from trunkline.app.runs.exploration_pool import Exploration, Finding
from trunkline.app.text.cells import count
from trunkline.app.view.explain.explanation import reproduction
from trunkline.sim.explore import PROMISES, Sampling
from trunkline.sim.plugins.toolbox import toolbox_of

#: version of the JSON report
EXPLORATION_VERSION = 2

_WIDTH = 34
_LONGEST = 400


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    wall: float
    #: of all processes
    cpu: float


def lines_of(found: Exploration) -> Iterator[str]:
    """The results for one scenario under one seed."""
    sign = "✓" if found.holds else "✗"
    runs = f"{found.runs} of {found.planned} runs" if found.left else count(found.runs, "run")
    facts = [f"seed {found.seed}", f"{found.commits} commits, {found.steps} steps", runs]
    if not found.holds:
        facts.append(f"{found.violated} violated: {' '.join(found.breaches)}")
    if found.bugs:
        facts.append(f"bug {', '.join(found.bugs)}")
    yield f"{sign} {found.file.id:<{_WIDTH}} {' · '.join(facts)}"
    for name, breach in found.breaches.items():
        yield f"  ✗ {name} in {breach.times} of {found.runs} runs. {_sentence(found, name)}"
        yield f"    first     {_short(breach.summary)}"
        yield f"    repro     {reproduction(found.header(breach.first.crashes))}"
    if found.different is not None:
        yield f"  · in {count(found.different.times, 'run')} people see something else than without a crash"
        points = ", then ".join(crash.name for crash in found.different.first.crashes)
        yield f"    first     {points}: {_short(found.different.summary)}"


def _sentence(found: Exploration, name: str) -> str:
    kind = toolbox_of(found.file).invariants.get(name)
    origin = f" (plug-in {kind.origin})" if kind is not None and kind.origin else ""
    return PROMISES.get(name, "") if kind is None else f"{kind.title}{origin}: {kind.sentence}"


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def summary(every: Sequence[Exploration], sampling: Sampling, spent: Cost, *, interrupted: bool) -> str:
    """The last lines of a report."""
    runs, violated = sum(explored.runs for explored in every), sum(explored.violated for explored in every)
    verdict = f"{violated} violated, {runs - violated} hold" if violated else "all hold" if runs else "no results"
    head = f"{count(len(every), 'exploration')}, {count(runs, 'run')}: {verdict}"
    lines = [f"interrupted. So far: {head}" if interrupted else head, _crashes(every), _sampled(sampling)]
    same = sum(explored.same for explored in every)
    if same:
        lines.append(f"same      {count(same, 'kill')} not played: another one leads to the same run")
    broken = Counter({name: 0 for explored in every for name in explored.breaches})
    for explored in every:
        broken.update({name: found.times for name, found in explored.breaches.items()})
    if broken:
        where = [f"{name} in {count(times, 'run')}" for name, times in broken.items()]
        lines.append(f"violated  {', '.join(where)}")
    rate = (runs - same) / spent.cpu if spent.cpu else 0.0
    lines.append(f"time      {spent.wall:.1f} s wall, {spent.cpu:.1f} s CPU, {rate:.1f} runs per CPU second")
    return "\n".join(lines)


def _fired(every: Sequence[Exploration]) -> Counter[str]:
    fired: Counter[str] = Counter()
    for explored in every:
        fired.update(explored.fired)
    return fired


def _crashes(every: Sequence[Exploration]) -> str:
    fired = _fired(every)
    kinds = [
        f"{fired['kill commit']} kills at commits",
        f"{fired['kill step']} at steps",
        f"{fired['stop commit'] + fired['stop step']} stops",
    ]
    inside, overtaken = sum(explored.inside for explored in every), sum(explored.overtaken for explored in every)
    late = f"; {count(overtaken, 'stop')} overtaken by another end" if overtaken else ""
    return f"crashes   {', '.join(kinds)}; {inside} of them inside the recovery from another one{late}"


def _sampled(sampling: Sampling) -> str:
    steps = "every step" if sampling.every_step == 1 else f"one step in {sampling.every_step}"
    return (
        f"tried     every commit, {steps}; of each scenario and seed up to {sampling.stops} stops and"
        f" {sampling.second} second crashes, drawn by seed and point"
    )


def as_json(every: Sequence[Exploration], sampling: Sampling, spent: Cost, *, interrupted: bool) -> bytes:
    """An exploration as one JSON document, version `EXPLORATION_VERSION`."""
    runs = sum(explored.runs for explored in every)
    document = {
        "trunkline_exploration": EXPLORATION_VERSION,
        "holds": all(explored.holds for explored in every),
        "interrupted": interrupted,
        "sampling": sampling,
        "runs": runs,
        "same": sum(explored.same for explored in every),
        "fired": dict(_fired(every)),
        "wall_seconds": round(spent.wall, 3),
        "cpu_seconds": round(spent.cpu, 3),
        "runs_per_cpu_second": round((runs - sum(explored.same for explored in every)) / spent.cpu, 1)
        if spent.cpu
        else None,
        "explored": [_as_builtins(explored) for explored in every],
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


def _as_builtins(found: Exploration) -> dict[str, Any]:
    header = found.header(())
    return {
        "scenario": header.scenario,
        "path": header.path,
        **some_fields(found, "seed", "bugs", "holds", "commits", "steps", "planned", "runs", "same", "violated"),
        "fired": dict(found.fired),
        "inside_recovery": found.inside,
        "overtaken": found.overtaken,
        "violations": [{"id": name, **_found(found, breach)} for name, breach in found.breaches.items()],
        "different": None if found.different is None else _found(found, found.different),
    }


def _found(found: Exploration, finding: Finding) -> dict[str, Any]:
    return {
        "times": finding.times,
        "first": finding.summary,
        "reproduce": reproduction(found.header(finding.first.crashes)),
    }
