"""The methods of a projection that take events, and the ids of invariants: what types and docstrings say.

One test, as there is room for no more.
"""

import subprocess
import sys

from trunkline.app.view.index.run_index import RunView
from trunkline.core.events import Body, Event
from trunkline.core.events.delivery import IntentPrepared
from trunkline.sim.events.wire import WireAccepted, WireRefused
from trunkline.sim.events.world import PeerSaid
from trunkline.sim.index.intent_facts import IntentFacts
from trunkline.sim.index.projection import Projection, on
from trunkline.sim.invariants import CHECKERS, Checker


class Counted(Projection):
    """Every way in which a method takes events, and methods that take none."""

    def on_said(self, event: Event, body: PeerSaid) -> None: ...

    def on_wire(self, event: Event, body: WireAccepted | WireRefused, facts: IntentFacts) -> None: ...

    @on(IntentPrepared)
    def on_any(self, event: Event, body: Body) -> None: ...

    def on_board(self, place: str) -> None: ...

    def on_top(self, first: Event, second: Event) -> None: ...

    def helper(self, event: Event, body: PeerSaid) -> None: ...


def check_that_a_method_takes_what_its_types_or_its_mark_say() -> None:
    names = {body: method.__name__ for body, method in Counted().handlers().items()}
    assert names == {PeerSaid: "on_said", WireAccepted: "on_wire", WireRefused: "on_wire", IntentPrepared: "on_any"}
    assert Counted.of_intents == {WireAccepted, WireRefused}


def check_every_method_of_ours_that_is_named_so_takes_events() -> None:
    assert RunView.__name__ and CHECKERS  # both import what there is
    pending, seen = [Projection], set[type[Projection]]()
    while pending:
        seen.add(kind := pending.pop())
        pending += kind.__subclasses__()
    ours = [kind for kind in seen if kind.__module__.startswith("trunkline.")]
    named = {f"{kind.__name__}.{name}" for kind in ours for name in vars(kind) if name.startswith("on_")}
    taken = {f"{kind.__name__}.{name}" for kind in ours for name in vars(kind) if "takes" in dir(vars(kind)[name])}
    assert named <= taken and len(named) > 300


def check_every_docstring_begins_with_the_id() -> None:
    assert len(CHECKERS) > 70
    assert all((checker.__doc__ or "").startswith(f"{checker.id}: ") for checker in CHECKERS)


def check_an_id_that_is_said_counts_and_a_base_has_none() -> None:
    class Said(Checker):
        """Y1: says something else."""

        id = "acme.said"

    class Base(Checker):
        """The part of Y1: a base of others."""

    assert Said.id == "acme.said"
    assert not hasattr(Base, "id")


def check_without_docstrings_nothing_is_judged_in_silence() -> None:
    done = subprocess.run(
        [sys.executable, "-OO", "-c", "import trunkline.sim.invariants"], capture_output=True, check=False
    )
    assert done.returncode
    assert b"-OO" in done.stderr


def test_what_types_and_docstrings_say_counts() -> None:
    for name, check in list(globals().items()):
        if name.startswith("check_"):
            check()
