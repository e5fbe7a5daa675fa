"""Reported defects of exploration: what it must find, and what it must not call a difference."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support.paths import FIXTURES, SCENARIO_FILES
from trunkline.core.gateway import Gateway
from trunkline.core.reasons import Reason
from trunkline.core.store.commands import Enqueue
from trunkline.core.values import IntentId, IntentKind
from trunkline.sim import BUGS, CrashAt, load_scenario
from trunkline.sim.bugs import Bug
from trunkline.sim.bugs.wiring import Wiring
from trunkline.sim.explore import Explorer, Sampling
from trunkline.sim.scenario import load_text

FOLDER = FIXTURES / "reported"
ECHO = """\
scenario: 1
title: no reload anywhere
world: {people: [ana], discord: {rooms: [ops]}}
cast: {agents: {main: [{do: [{think: 3s}, {reply: "re: {text}"}]}]}}
script:
  - {at: 1s, as: ana, in: ops, say: one}
"""


def file_of(name: str) -> Path:
    return next(FOLDER.rglob(f"{name}*"))


def answers_again(suffix: str):
    """A defect after a restart: each answer is prepared twice, the second time under an id with this suffix."""

    def install(wiring: Wiring) -> None:
        if wiring.generation == 1:
            return

        class Doubling(Gateway):
            def __init__(self, **parts: Any) -> None:
                super().__init__(**parts)
                deliver = self._turns._preparer.deliver

                def both(row, cause) -> None:
                    deliver(row, cause)
                    if row.kind is IntentKind.REPLY and suffix not in row.id:
                        self._group.start_soon(self._again, row)  # pyright: ignore[reportOptionalMemberAccess]

                self._turns._preparer.deliver = both

            async def _again(self, row) -> None:
                again = msgspec.structs.replace(row, id=IntentId(row.id + suffix))

                def story(new):
                    return self._ctx.record_prepared(again, targeted=False, reason=Reason.REPLY_TO_ORIGIN, cause=None)

                command = Enqueue(intent=again, now=self._ctx.env.now())
                await self._ctx.store.write(command, story, then=lambda seq: self._intents.enqueue(again, seq))

        wiring.make_gateway = Doubling

    return install


@pytest.mark.parametrize("suffix", ["~b", "+2"])
def test_an_answer_that_comes_twice_after_each_crash_is_found_under_any_id(monkeypatch, suffix):
    bug = Bug(name="answers-again", sentence="Answers again.", caught_by=(), install=answers_again(suffix))
    monkeypatch.setitem(BUGS, bug.name, bug)
    explorer = Explorer(load_text(ECHO, "echo.yaml"), bugs=[bug.name])
    assert explorer.sound.holds
    tried = [explorer.run([CrashAt(what="commit", n=n)]) for n in (1, 2)]
    assert all("D3" in {breach.id for breach in one.breaches} for one in tried), tried


def test_a_message_less_before_it_changes_no_thread():
    explorer = Explorer(load_scenario(file_of("P11")))
    tried = [one for trial in explorer.plan(Sampling(every_step=3)) for one in explorer.attempt(trial)]
    assert len(tried) > 150
    assert [(one.crashes, one.breaches) for one in tried if one.breaches] == []


@pytest.mark.parametrize(
    ("name", "crash"),
    [
        ("L5-refusal-of-a-dead-process.explore", CrashAt(what="step", n=120)),
        ("V1-broken-row-hooks.explore", CrashAt(what="commit", n=9, kind="stop")),
    ],
)
def test_a_sound_gateway_is_not_blamed(name, crash):
    tried = Explorer(load_scenario(file_of(name))).run([crash])
    assert (tried.fired, tried.breaches) == (1, ())


@pytest.mark.parametrize(
    ("stem", "crashes"),
    [
        # Three ends in one commit, each with a notice for the same channel.
        ("full-queue-of-ends", [CrashAt(what="commit", n=8)]),
        # The next process dies at the second attempt of a notice, too: nobody reads it a third time.
        ("full-queue-of-ends", [CrashAt(what="commit", n=9), CrashAt(what="commit", n=5)]),
        # Lost hands, whose reports the agent answers with new tasks until its chain is over.
        ("result-delegated-again", [CrashAt(what="commit", n=31)]),
        # A report fails, is retried, and is in doubt after the crash: two notices.
        ("004-retried-report", [CrashAt(what="commit", n=19)]),
        # A hook sends an answer elsewhere, and it is in doubt: the notice about it goes there too.
        ("hooks-reroute", [CrashAt(what="commit", n=10)]),
        # A result is withheld: its notice is sent after the restart, though its report is suppressed.
        ("withheld-and-noted", [CrashAt(what="commit", n=9)]),
        # The process dies before it has stored the binding, or its end, that an operator asks for.
        ("bound-two-accounts", [CrashAt(what="step", n=99)]),
        ("bound-two-accounts", [CrashAt(what="step", n=142)]),
        # While the notice of a turn that was given up is prepared.
        ("turn-takes-gateway-down", [CrashAt(what="commit", n=27)]),
        # The second death in one message: it waits for its backoff, which is ten minutes.
        ("B103-backoff-stops-recovery", [CrashAt(what="commit", n=5), CrashAt(what="commit", n=18, kind="stop")]),
    ],
)
def test_nothing_is_broken_by_what_a_crash_rightly_changes(stem, crashes):
    explorer = Explorer(load_scenario(next(path for path in SCENARIO_FILES if path.stem == stem)))
    tried = explorer.run(crashes)
    assert (explorer.sound.breaches, tried.fired, tried.breaches) == ((), len(crashes), ())
