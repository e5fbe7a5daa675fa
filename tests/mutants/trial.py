"""A trial of a mutant: scenarios are played with it in a forked process, until an invariant finds it.

The fork has everything imported. The mutant's functions get the changed code, wherever they are already bound; a
module-level value is computed again and replaces the old one in every module that has it by name.
"""

import ast
import gc
import hashlib
import os
import signal
import sys
import types
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

import msgspec

from tests.mutants.operators import Mutant, mutated
from tests.support.paths import FAMILY_FILES, ROOT, SCENARIO_FILES
from tests.support.scenario.shipped import shipped_scenario
from trunkline.sim import run_scenario
from trunkline.sim.run.result import RunResult

#: CPU seconds that a scenario has with a mutant, before the mutant counts as endless; and seconds, in case it waits
_PATIENCE, _LONG = 20, 120


class Fate(StrEnum):
    """How a trial ends."""

    INVARIANT = "invariant"
    EXPECTATION = "expectation"
    CRASH = "crash"
    #: the runs differ, and nobody says so
    UNSEEN = "unseen"
    #: every run is the same, byte for byte
    SAME = "same"


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a mutant. `scenario`: the first that shows it; `by`: invariants, or what was said."""

    mutant: Mutant
    fate: Fate
    scenario: str = ""
    by: tuple[str, ...] = ()
    played: int = 0
    differing: int = 0


class Baseline(msgspec.Struct, frozen=True, kw_only=True):
    """What scenarios do without a mutant: digests of their traces, and the lines of core that each runs."""

    digests: dict[str, str]
    lines: dict[str, dict[str, frozenset[int]]]
    seconds: dict[str, float]


#: the scenarios that are played, each read when it is
FILES = {path.relative_to(ROOT).as_posix(): path for path in (*SCENARIO_FILES, *FAMILY_FILES)}


def digest(result: RunResult) -> str:
    """A digest of everything that a run did."""
    return hashlib.sha256(b"".join(map(msgspec.json.encode, result.trace.events))).hexdigest()


def lines_of(name: str) -> tuple[str, dict[str, set[int]]]:
    """The digest of a scenario's trace, and the lines of core that it runs, by file."""
    found: dict[str, set[int]] = {}
    core = f"{ROOT / 'core'}{os.sep}"
    link = f"{ROOT / 'trunkline' / 'core'}{os.sep}"
    seen: dict[CodeType, set[int] | None] = {}

    def local(frame: FrameType, event: str, argument: object) -> Any:
        lines = seen[frame.f_code]
        assert lines is not None
        lines.add(frame.f_lineno)
        return local

    def called(frame: FrameType, event: str, argument: object) -> Any:
        code = frame.f_code
        if code not in seen:
            file = code.co_filename
            inside = file.startswith((core, link))
            short = file.removeprefix(f"{ROOT}{os.sep}").removeprefix(f"trunkline{os.sep}")
            seen[code] = found.setdefault(short, set()) if inside else None
        lines = seen[code]
        if lines is None:
            return None
        lines.add(frame.f_lineno)
        return local

    sys.settrace(called)
    try:
        result = run_scenario(shipped_scenario(FILES[name]))
    finally:
        sys.settrace(None)
    return digest(result), found


def install(mutant: Mutant) -> None:
    """Put the mutant in place, in this process."""
    path = ROOT / mutant.path
    module = next(m for m in list(sys.modules.values()) if _file_of(m) == path.resolve())
    tree = mutated(path.read_text(), mutant)
    codes = dict(_codes(compile(tree, str(module.__file__), "exec")))
    changed = 0
    for found in gc.get_objects():
        if isinstance(found, FunctionType) and found.__module__ == module.__name__:
            code = codes.get((found.__code__.co_qualname, found.__code__.co_firstlineno))
            if code is not None and code.co_freevars == found.__code__.co_freevars and code != found.__code__:
                found.__code__ = code
                changed += 1
    for statement in tree.body:
        targets = getattr(statement, "targets", None) or [getattr(statement, "target", None)]
        if getattr(targets[0], "id", None) == mutant.where:
            old = getattr(module, mutant.where)
            exec(compile(ast.Module([statement], []), str(module.__file__), "exec"), vars(module))
            _rebind(old, getattr(module, mutant.where), mutant.where)
            changed += 1
    if not changed:
        raise LookupError(f"{mutant.name}: nothing that runs has this code")


def _rebind(old: object, new: object, name: str) -> None:
    for module in list(sys.modules.values()):
        if isinstance(module, types.ModuleType) and vars(module).get(name) is old:
            setattr(module, name, new)


def _file_of(module: object) -> Path | None:
    file = getattr(module, "__file__", None)
    return Path(file).resolve() if isinstance(file, str) else None


def _codes(code: CodeType) -> Iterator[tuple[tuple[str, int], CodeType]]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield (constant.co_qualname, constant.co_firstlineno), constant
            yield from _codes(constant)


def tried(mutant: Mutant, scenarios: Sequence[str], digests: dict[str, str]) -> Outcome:
    """The outcome of a mutant over these scenarios. Forks."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115, PTH123 -- the process ends with it
        for number in (signal.SIGALRM, signal.SIGPROF):
            signal.signal(number, signal.SIG_DFL)
        try:
            outcome = _play(mutant, scenarios, digests, writer)
        except BaseException as error:  # noqa: BLE001 -- whatever a mutant raises outside of a run
            outcome = Outcome(mutant=mutant, fate=Fate.CRASH, by=(repr(error)[:200],))
        os.write(writer, msgspec.json.encode(outcome) + b"\n")
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        lines = pipe.read().splitlines()
    os.waitpid(child, 0)
    # A process that was ended by the alarm has said what it had found until then.
    last = msgspec.json.decode(lines[-1], type=Outcome)
    if last.fate is Fate.SAME and last.scenario:
        return msgspec.structs.replace(last, fate=Fate.CRASH, by=("endless",))
    return last


def _play(mutant: Mutant, scenarios: Sequence[str], digests: dict[str, str], writer: int) -> Outcome:
    install(mutant)
    expectation: Outcome | None = None
    crash: Outcome | None = None
    differing = played = 0
    for name in scenarios:
        running = expectation or crash or Outcome(mutant=mutant, fate=Fate.SAME, scenario=name)
        os.write(writer, msgspec.json.encode(running) + b"\n")
        signal.setitimer(signal.ITIMER_PROF, _PATIENCE)
        signal.alarm(_LONG)
        played += 1
        try:
            result = run_scenario(shipped_scenario(FILES[name]))
        except Exception as error:  # noqa: BLE001 -- a run that a mutant breaks
            crash = crash or Outcome(mutant=mutant, fate=Fate.CRASH, scenario=name, by=(repr(error)[:200],))
            continue
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.alarm(0)
        if result.violated:
            return Outcome(mutant=mutant, fate=Fate.INVARIANT, scenario=name, by=result.violated, played=played)
        if result.unmet and expectation is None:
            said = tuple(str(unmet)[:200] for unmet in result.unmet[:2])
            expectation = Outcome(mutant=mutant, fate=Fate.EXPECTATION, scenario=name, by=said)
        differing += digest(result) != digests[name]
    last = expectation or crash or Outcome(mutant=mutant, fate=Fate.UNSEEN if differing else Fate.SAME)
    return msgspec.structs.replace(last, played=played, differing=differing)
