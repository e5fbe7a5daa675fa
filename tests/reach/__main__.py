"""Print what no shipped scenario exercises: ``python -m tests.reach``. Fails where that is not what the list says."""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.reach.measure import Reach, declared, exercised

LEFT_OUT = Path(__file__).with_name("left_out.toml")
#: what is listed; `modules` has those whose statements do not count
KINDS = ("fields", "values", "kinds", "reasons", "transitions")
#: part of the statements of core that must run, without adapters, agents, HTTP and the modules of the list
LEAST = 0.85


def left_out() -> Mapping[str, Mapping[str, str]]:
    """Each thing that no scenario exercises, with the reason."""
    listed = tomllib.loads(LEFT_OUT.read_text("utf-8"))
    return {kind: {name: why for why, names in listed[kind].items() for name in names} for kind in (*KINDS, "modules")}


def differences(can: Reach, did: Reach, kinds: tuple[str, ...] = KINDS) -> Iterator[str]:
    """What the list lacks, and what it has although a scenario exercises it, or although it is gone."""
    listed = left_out()
    for kind in kinds:
        missing = getattr(can, kind) - getattr(did, kind)
        yield from (f"{kind}: no scenario exercises {name}" for name in sorted(missing - listed[kind].keys()))
        gone = sorted(listed[kind].keys() - missing)
        yield from (f"{kind}: {name} is exercised or gone, and listed" for name in gone)


def shares(can: Reach, did: Reach) -> Iterator[tuple[str, int, int]]:
    """The statements of each file that run, and those it has."""
    for file, lines in can.statements.items():
        yield file, len(lines & did.statements.get(file, set())), len(lines)


def _sums(rows: list[tuple[str, int, int]]) -> tuple[int, int]:
    return sum(run for _, run, _ in rows), sum(every for _, _, every in rows)


def main() -> None:
    """Play everything, print it, and compare it with the list."""
    can, did = declared(), exercised()
    modules = left_out()["modules"]
    files = list(shares(can, did))
    for file, run, most in sorted(files, key=lambda row: row[1] - row[2]):
        if run < most:
            listed = " (listed)" if file in modules else ""
            print(f"{file}: {most - run} of {most} statements never run{listed}")
    for kind in KINDS:
        print(f"{kind}: {len(getattr(can, kind) & getattr(did, kind))} of {len(getattr(can, kind))} are exercised")
    run, every = _sums(files)
    print(f"statements: {run} of {every} of core without adapters, agents and HTTP ({run / every:.1%})")
    run, every = _sums([row for row in files if row[0] not in modules])
    print(f"statements: {run} of {every} without the listed modules too ({run / every:.1%})")
    wrong = list(differences(can, did))
    wrong += [f"modules: {file} is listed, and there is none" for file in modules if file not in can.statements]
    wrong += [f"modules: {f} is listed, and most of it runs" for f, run, n in files if f in modules and run > 0.6 * n]
    wrong += [f"less than {LEAST:.0%} of the statements run"] if run < LEAST * every else []
    print("\n".join(wrong))
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
