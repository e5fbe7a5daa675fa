"""Make mutants of core and try them: ``make mutants ARGS='--count 400 --seed 1'``.

The rate of each room is printed with its interval, and each mutant that nobody finds. What is harmless is listed, with
a reason, in ``tests/mutants/harmless.toml``, and left out.
"""

import argparse
import json
import math
import os
import pickle
import random
import sys
import time
import tomllib
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from tests.mutants.operators import Mutant, mutants_of
from tests.mutants.trial import FILES, Baseline, Fate, Outcome, lines_of, tried
from tests.support.paths import ROOT

#: most scenarios that a mutant is tried with
_MOST = 40
KILLED = Path(__file__).with_name("killed.jsonl")
HARMLESS = Path(__file__).with_name("harmless.toml")
#: part of the kept list whose code may have changed since
_GONE_AT_MOST = 0.2
#: outside of the simulated gateway
_NOT_PLAYED = ("core/adapters/", "core/http/", "core/agents/", "core/testing/", "core/explain/", "core/config/files/")


def baseline(jobs: int) -> Baseline:
    """What every scenario does and runs, without a mutant."""
    names = sorted(FILES)
    pieces: list[dict[str, tuple[str, dict[str, set[int]], float]]] = []
    readers = []
    for job in range(jobs):
        reader, writer = os.pipe()
        if os.fork() == 0:
            os.close(reader)
            found = {}
            for name in names[job::jobs]:
                began = time.process_time()
                found[name] = (*lines_of(name), time.process_time() - began)
            with os.fdopen(writer, "wb") as pipe:
                pickle.dump(found, pipe)
            os._exit(0)
        os.close(writer)
        readers.append(reader)
    for reader in readers:
        with os.fdopen(reader, "rb") as pipe:
            pieces.append(pickle.load(pipe))
        os.wait()
    runs = {name: run for piece in pieces for name, run in piece.items()}
    return Baseline(
        digests={name: run[0] for name, run in runs.items()},
        lines={name: {file: frozenset(lines) for file, lines in run[1].items()} for name, run in runs.items()},
        seconds={name: run[2] for name, run in runs.items()},
    )


def drawn(base: Baseline, count: int, seed: int, room: str) -> list[Mutant]:
    """Mutants on lines that some scenario runs, spread evenly over files and operators."""
    run: dict[str, set[int]] = defaultdict(set)
    for files in base.lines.values():
        for file, lines in files.items():
            run[file] |= lines
    harmless = tomllib.loads(HARMLESS.read_text())["harmless"]
    dice = random.Random(seed)
    found: dict[str, list[Mutant]] = {}
    for path in sorted((ROOT / "core").rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if name.startswith(_NOT_PLAYED):
            continue
        some = [m for m in mutants_of(path, ROOT) if _runs(m, run[name]) and m.name not in harmless]
        some = [mutant for mutant in some if room in ("", mutant.room)]
        if some:
            dice.shuffle(some)
            # No file has more than its share, whatever its length: a fourth power of it would be all equal.
            found[name] = some[: max(1, round(len(some) ** 0.75))]
    everything = [mutant for some in found.values() for mutant in some]
    dice.shuffle(everything)
    return everything[:count]


def _runs(mutant: Mutant, lines: set[int]) -> bool:
    return mutant.line in lines or mutant.where.lstrip("_").isupper()


def scenarios_for(mutant: Mutant, base: Baseline, seed: int) -> list[str]:
    """The scenarios that run the mutant's line, at most `_MOST`.

    Half of them are those that run most of its file, and so come to the line in most ways; of the others the cheap ones
    are drawn more often.
    """
    file = mutant.path
    found = [name for name, files in base.lines.items() if mutant.line in files.get(file, ())]
    found = found or [name for name, files in base.lines.items() if file in files]
    dice = random.Random(f"{seed} {mutant.name}")
    weight = {name: dice.random() / (0.05 + base.seconds[name]) for name in found}
    widest = sorted(found, key=lambda name: -len(base.lines[name].get(file, ())))[: _MOST // 2]
    rest = sorted(set(found) - set(widest), key=lambda name: (-weight[name], name))
    return sorted([*widest, *rest[: _MOST - len(widest)]], key=lambda name: -weight[name])


def interval(k: int, n: int) -> str:
    """A rate with its interval of 95 % (Wilson)."""
    if not n:
        return "-"
    z, p = 1.96, k / n
    middle, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    low, high = (100 * (middle + sign * half) / (1 + z * z / n) for sign in (-1, 1))
    return f"{100 * p:.0f} % ({low:.0f}-{high:.0f})"


def _line(outcome: Outcome) -> str:
    mutant = outcome.mutant
    return (
        f"{mutant.path}:{mutant.line} {mutant.where} [{mutant.operator} {mutant.nth}] {mutant.change!r:.300}"
        f" ({outcome.differing} of {outcome.played} differ) {outcome.scenario} {' '.join(outcome.by)[:160]}"
    )


def report(outcomes: list[Outcome], seconds: float) -> str:
    """The table of rooms, and what nobody found."""
    rooms: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        rooms[outcome.mutant.room].append(outcome)
    rows = [f"{'room':24} {'n':>4}  {'invariant':16} {'+ expectation':16} crash  unseen  same"]
    for room, some in [*sorted(rooms.items()), ("all", outcomes)]:
        count = {fate: sum(outcome.fate is fate for outcome in some) for fate in Fate}
        found = count[Fate.INVARIANT] + count[Fate.EXPECTATION]
        rows.append(
            f"{room:24} {len(some):4}  {interval(count[Fate.INVARIANT], len(some)):16} {interval(found, len(some)):16}"
            f" {count[Fate.CRASH]:5} {count[Fate.UNSEEN]:7} {count[Fate.SAME]:5}"
        )
    lines = [f"{len(outcomes)} mutants in {seconds:.0f} s", *rows, ""]
    for fate in (Fate.UNSEEN, Fate.SAME, Fate.EXPECTATION, Fate.CRASH):
        lines.append(f"== {fate.value}")
        lines += [_line(outcome) for outcome in outcomes if outcome.fate is fate]
    return "\n".join(lines)


def replay(every: int, jobs: int) -> int:
    """Try kept mutants again, each with the scenario that found it; print those that no invariant finds any more."""
    rows = [json.loads(line) for line in KILLED.read_text().splitlines()][::every]
    known = [(mutant, row["scenario"]) for row in rows if (mutant := _kept(row)) is not None]
    with ThreadPoolExecutor(jobs) as pool:
        missed = [line for line in pool.map(_replayed, known) if line]
    gone = len(rows) - len(known)
    print("\n".join([*missed, f"{len(known) - len(missed)} of {len(known)} kept mutants are found; {gone} are gone"]))
    if gone > _GONE_AT_MOST * len(rows):
        print("too many have left with the code that they change: write the list again with --killed")
    return bool(missed) or gone > _GONE_AT_MOST * len(rows)


def _kept(row: dict[str, str]) -> Mutant | None:
    """A mutant of the list; none: its code, or its scenario, has changed."""
    name = row["mutant"]
    path = ROOT / name.partition("::")[0]
    found = mutants_of(path, ROOT) if path.exists() and row["scenario"] in FILES else []
    return next((mutant for mutant in found if (mutant.name, mutant.change) == (name, row["change"])), None)


def _replayed(kept: tuple[Mutant, str]) -> str:
    """Why a kept mutant is not found; empty: it is."""
    mutant, scenario = kept
    outcome = tried(mutant, [scenario], {scenario: ""})
    return (
        ""
        if outcome.fate is Fate.INVARIANT
        else f"{mutant.name}: {outcome.fate.value} {' '.join(outcome.by)} in {scenario}"
    )


def main() -> None:
    """Try mutants and print what became of them."""
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--room", default="", help="mutants of one room only")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--minutes", type=float, default=60.0, help="what is not tried by then is left out, and said")
    parser.add_argument("--replay", type=int, metavar="EVERY", help="only replay the kept list, each EVERY-th of it")
    parser.add_argument("--killed", type=Path, help="write the mutants that an invariant found to this file")
    options = parser.parse_args()
    if options.replay:
        raise SystemExit(replay(options.replay, options.jobs))
    began = time.monotonic()
    base = baseline(options.jobs)
    print(f"{len(base.digests)} scenarios in {time.monotonic() - began:.0f} s", file=sys.stderr)
    mutants = drawn(base, options.count, options.seed, options.room)
    outcomes: list[Outcome] = []

    def trial(mutant: Mutant) -> None:
        if time.monotonic() - began > 60 * options.minutes:
            return
        outcomes.append(tried(mutant, scenarios_for(mutant, base, options.seed), base.digests))
        if len(outcomes) % 20 == 0:
            print(f"{len(outcomes)} of {len(mutants)}, {time.monotonic() - began:.0f} s", file=sys.stderr)

    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(trial, mutants))
    print(report(outcomes, time.monotonic() - began))
    if len(outcomes) < len(mutants):
        print(f"{len(mutants) - len(outcomes)} of {len(mutants)} were not tried: the time was over")
    if options.killed:
        found = sorted(
            (
                {"mutant": o.mutant.name, "scenario": o.scenario, "change": o.mutant.change}
                for o in outcomes
                if o.fate is Fate.INVARIANT
            ),
            key=lambda row: row["mutant"],
        )
        options.killed.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in found))


if __name__ == "__main__":
    main()
