"""Commands and queries at random: what scenarios and the kit ask a store for, changed, repeated, mixed and in batches.

A call that was made up from nothing would hardly ever find a row that is there. These find them, since their values
come from recorded calls, field by field; a part of them is replaced by what is hard for a database.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Sequence
from enum import Enum
from random import Random
from typing import Any

import msgspec
import pytest

from tests.contract.store_kit.bench import CHECKS
from tests.contract.test_store import DiskBench
from tests.support.paths import SCENARIO_FILES
from tests.support.scenario.own_defects import FILES
from trunkline.core.records.rows import BrokenRow, Unfinished
from trunkline.core.store.commands import SetAsideBroken, Write
from trunkline.core.store.cursors import FindCursor, SaveCursor
from trunkline.core.store.mailbox import ReadOutcomes
from trunkline.core.store.operators.bindings import ReadBindingsOverview
from trunkline.core.store.operators.present import ReadPresent
from trunkline.core.store.queries import CountIntents, CountPurgeable, FindHolder
from trunkline.core.store.queue_admin import QueueFilter
from trunkline.core.store.sqlite import connection as connection_module
from trunkline.core.store.sqlite import store as store_module
from trunkline.core.store.sqlite.connection import PendingWrite
from trunkline.core.store.sqlite.handlers import ReadSql, RunSql
from trunkline.core.values import InboundId
from trunkline.sim import run_scenario
from trunkline.sim.loop import SimLoop, run

#: writes that share a commit, or a query
Call = tuple[Any, ...]
#: more than the rows that bulk handlers need, and more than one statement of theirs has
_BATCHES = (1, 1, 1, 2, 9, 40)
#: what is hard: quotes and signs of parameters, patterns, no letters, other planes, what looks like JSON, long texts
_TEXTS = (
    "",
    "'",
    '"',
    "%",
    "_",
    "\\",
    "?",
    "$1",
    ":key",
    "[]",
    "{}",
    "null",
    "0",
    " x ",
    "\n",
    "é",
    "e\u0301",
    "ß",
    "SS",
)
_MORE_TEXTS = ("ﬀ", "𝄞", "\u200b", "\ufffd", "\x01", "\x7f", "a" * 5000, "x'00'", "-- ", "Ω", "i", "İ", "\U0010ffff")
_NUMBERS = (0, 1, 2, 3, 7, 100, 2**31, 2**53, -1)
_TIMES = (0.0, 1.0, 0.1 + 0.2, 1e-9, 1e15, -1.0, 1_000_000.5)


#: what neither scenarios nor the kit ask for, or only with a NUL
_OTHERS: tuple[Any, ...] = (
    SaveCursor(channel="matrix", account="default", name="sync", value="s1"),
    FindCursor(channel="matrix", account="default", name="sync"),
    FindHolder(now=0.0),
    ReadBindingsOverview(now=1.0, ended=True),
    ReadOutcomes(inbounds=(InboundId("m1"), InboundId("m2"))),
    ReadPresent(mark=lambda: 1, lines=3, lines_each=2, rows=2),
    CountIntents(which=QueueFilter()),
    CountPurgeable(which=QueueFilter()),
    SetAsideBroken(
        left=Unfinished(
            works=(),
            intents=0,
            delegations=(),
            broken_works=(BrokenRow(n=1, id="m1", problem="?"),),
            broken_delegations=(BrokenRow(n=1, id="d1", problem="?"),),
        ),
        now=1.0,
    ),
)


class Corpus:
    """What was asked for in each run, and all values that each field had."""

    def __init__(self) -> None:
        self.runs: list[list[Call]] = []
        self.of_kind: dict[type[Any], list[Any]] = defaultdict(list)
        self._fields: dict[tuple[type[Any], str], list[Any]] = defaultdict(list)

    def begin(self) -> None:
        """What comes belongs to another run."""
        self.runs.append([])

    def add(self, call: Call) -> None:
        """Note a call; but no text with a NUL: PostgreSQL has another sign for it, and SQLite's JSON ends there."""
        if "\\x00" in repr(call):
            return
        self.runs[-1].append(call)
        for value in call:
            self.of_kind[type(value)].append(value)
            self._note(value)

    def _note(self, value: Any) -> None:
        if isinstance(value, msgspec.Struct):
            for name in value.__struct_fields__:
                found = getattr(value, name)
                self._fields[type(value), name].append(found)
                self._note(found)
        elif isinstance(value, tuple | list):
            for each in value:
                self._note(each)

    def another(self, dice: Random, kind: type[Any], name: str) -> Any:
        """A value that a field had in some call."""
        return dice.choice(self._fields[kind, name])


def recorded_calls(patched: pytest.MonkeyPatch) -> Corpus:
    """What all scenarios and all checks of the kit ask a store for."""
    corpus = Corpus()
    together, ask = connection_module._together, store_module.ask  # pyright: ignore[reportPrivateUsage]

    def commit(c: sqlite3.Connection, writes: Sequence[PendingWrite], token: int | None) -> list[Any]:
        answers = together(c, writes, token)
        if not any(isinstance(write.command, RunSql) for write in writes):
            corpus.add(tuple(write.command for write in writes))
        return answers

    def asked(c: sqlite3.Connection, query: Any) -> Any:
        if not isinstance(query, ReadSql):
            corpus.add((query,))
        return ask(c, query)

    patched.setattr(connection_module, "_together", commit)
    patched.setattr(store_module, "ask", asked)
    for check in CHECKS:
        bench = DiskBench()

        async def main(_: SimLoop, check: Any = check, bench: DiskBench = bench) -> None:
            await check(bench)

        corpus.begin()
        try:
            run(main, order="fifo")
        finally:
            bench.discard()
    corpus.begin()
    for other in _OTHERS:
        corpus.add((other,))
    for path in SCENARIO_FILES:
        corpus.begin()
        run_scenario(FILES[path])
    return corpus


class Draws:
    """Draws calls of a number; the same number draws the same."""

    def __init__(self, corpus: Corpus, seed: int) -> None:
        self._corpus = corpus
        self._dice = Random(f"generated {seed}")
        self._writes = [kind for kind in corpus.of_kind if issubclass(kind, Write)]
        self._kinds = list(corpus.of_kind)
        #: what was drawn before, to be repeated
        self._before: list[Any] = []

    def calls(self, count: int) -> Iterator[Call]:
        """So many commands and queries, in calls."""
        drawn = 0
        while drawn < count:
            for call in self._piece():
                yield call
                self._before += call
                drawn += len(call)

    def _piece(self) -> Iterator[Call]:
        """A part of a run, with changes and with calls of others in it."""
        dice, run = self._dice, self._dice.choice(self._corpus.runs)
        if not run:
            return
        start = dice.randrange(len(run)) if dice.random() < 0.3 else 0
        for call in run[start : start + 40]:
            # Most calls of runs ask whether there is anything to do.
            if not isinstance(call[0], Write) and dice.random() < 0.7:
                continue
            yield tuple(self._changed(value) if dice.random() < 0.25 else value for value in call)
            if dice.random() < 0.35:
                yield self._others()

    def _others(self) -> Call:
        """Something else: of each kind as often, or what was there before."""
        dice = self._dice
        if dice.random() < 0.4:
            return (self._drawn(dice.choice(self._kinds)),)
        many = dice.choice(_BATCHES)
        kinds = dice.choices(self._writes, k=dice.choice((1, 2, 3)))
        drawn = [self._drawn(dice.choice(kinds)) for _ in range(many)]
        again = [value for value in dice.sample(self._before, min(3, len(self._before))) if isinstance(value, Write)]
        return tuple(drawn + again)

    def _drawn(self, kind: type[Any]) -> Any:
        value = self._dice.choice(self._corpus.of_kind[kind])
        return self._changed(value) if self._dice.random() < 0.5 else value

    def _changed(self, value: Any) -> Any:
        """A value with another field, or a few of them."""
        for _ in range(self._dice.choice((1, 1, 2, 4))):
            value = self._with_change(value)
        return value

    def _with_change(self, value: Any) -> Any:
        dice = self._dice
        match value:
            case msgspec.Struct():
                if not value.__struct_fields__:
                    return value
                name = dice.choice(value.__struct_fields__)
                if dice.random() < 0.4:
                    found = self._corpus.another(dice, type(value), name)
                else:
                    found = self._with_change(getattr(value, name))
                return msgspec.structs.replace(value, **{name: found})
            case tuple() if value:
                at = dice.randrange(len(value))
                return (*value[:at], self._with_change(value[at]), *value[at + 1 :])
            case Enum():
                return dice.choice(list(type(value)))
            case bool():
                return not value
            case int():
                return dice.choice((*_NUMBERS, value + 1))
            case float():
                return dice.choice((*_TIMES, value + 1.0, value - 1.0))
            case str():
                return dice.choice((*_TEXTS, *_MORE_TEXTS, value.upper(), f"{value} ", value[:-1]))
            case _:
                return value
