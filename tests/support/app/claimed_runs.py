"""Runs made by hand for the list screens: overlapping claims, parts with a repeat and a hole, keys almost the same."""

from typing import Any

from tests.support.app.author import ANA, BO, DEPLOY, DM, OPS, Author, telegram_dm
from tests.support.app.traces import PLACES, verdicts
from trunkline.app.runs.model import Run
from trunkline.core.events.delivery import AttemptStarted, ChunkAcked, IntentPrepared
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, IntentKind
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.invariants.base import Status, Verdict, Violation

PARTS = ("first: the cable", "second: the plug", "third: the switch", "fourth: the lamp")


def claimed() -> Run:
    """A message that two processes send at the same time, and one in parts of which one comes twice and one never."""
    author = Author()
    author.world(PLACES)
    admitted, _ = author.say(OPS, ANA, "who is on call?")
    ids: dict[str, Any] = {"kind": IntentKind.REPLY, "reason": Reason.REPLY_TO_ORIGIN}
    intent = author.prepare(OPS, "bo, until noon", admitted, **ids)
    author.attempt(OPS, intent)
    author.wait(0.4)
    author.generation = 2
    author.attempt(OPS, intent, number=2)
    second = author.accept(OPS, "bo, until noon", intent, number=2)
    author.wait(0.3)
    author.settle(OPS, "bo, until noon", intent, second)
    asked, _ = author.say(DEPLOY, ANA, "what do I need?")
    author.wait(0.1)
    seen = _in_parts(author, asked)
    author.rest()
    owners = tuple(event.seq for event in author.log.events if isinstance(event.body, AttemptStarted))[:2]
    broken = (
        _broken("D5", owners[1], "two processes had i1", owners),
        _broken("D4", seen[-1], "part 2 of i2 was seen twice, part 3 never", seen),
    )
    return Run(trace=author.trace("claimed", title="Two processes, and parts"), verdicts=_with(broken))


def _in_parts(author: Author, cause: int) -> tuple[int, ...]:
    prepared = IntentPrepared(
        intent_kind=IntentKind.REPLY,
        address=DEPLOY,
        targeted=False,
        text="\n".join(PARTS),
        chunks=len(PARTS),
        key="k-i2",
        reason=Reason.REPLY_TO_ORIGIN,
        mirror_key="k",
    )
    author.prepared = author.gateway.record(prepared, cause, intent="i2")
    seen = []
    for number, chunk in enumerate((0, 1, 1, 3), 1):
        started = author.gateway.record(
            AttemptStarted(chunk=chunk, attempt=number if chunk == 1 else 1, address=DEPLOY),
            author.prepared,
            intent="i2",
        )
        author.wait(0.1)
        wire = WireAccepted(
            address=DEPLOY,
            requested=DEPLOY,
            text=PARTS[chunk],
            provider_id=author.id("message"),
            key="k-i2",
            chunk=chunk,
            attempt=1,
        )
        seen.append(author.platform(DEPLOY).record(wire, started, intent="i2"))
        if number != 2:
            receipt = ChunkAcked(chunk=chunk, provider_id="p", address=DEPLOY, reason=Reason.ACCEPTED)
            author.gateway.record(receipt, seen[-1], intent="i2")
    return tuple(seen)


def _broken(invariant: str, at: int, summary: str, evidence: tuple[int, ...]) -> Violation:
    return Violation(
        invariant=invariant,
        at=at,
        summary=summary,
        expected=("once",),
        actual=(summary,),
        evidence=evidence,
        first_wrong=at,
    )


def _with(broken: tuple[Violation, ...]) -> tuple[Verdict, ...]:
    bad = Status.VIOLATED
    own = (
        Verdict(id=one.invariant, title="Told here", sentence="", status=bad, exercised=1, violations=(one,))
        for one in broken
    )
    ids = {one.invariant for one in broken}
    return (*(verdict for verdict in verdicts() if verdict.id not in ids), *own)


def near_keys() -> Run:
    """A conversation under three keys that are almost the same, and others that are not."""
    author = Author()
    author.world(PLACES)
    dm: Address = telegram_dm("970312941")
    for at, key in enumerate(
        (
            "jeeves:telegram:*:direct:970312941",
            "jeeves:discord:main:channel:OPS",
            "jeeves:telegram:main:direct:970312941",
            "jeeves:discord:main:channel:ops",
            "jeeves:telegram:main:direct:77",
        )
    ):
        author.wait(1.0)
        place, who = ((dm, ANA), (OPS, BO), (dm, ANA), (OPS, BO), (DM, BO))[at]
        author.say(place, who, f"message {at + 1}", key=key)
    author.rest()
    return Run(trace=author.trace("near-keys", title="Keys that are almost the same"), verdicts=verdicts())
