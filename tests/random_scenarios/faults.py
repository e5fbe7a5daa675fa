"""Faults of a random scenario: every kind that the language has for our own gateway."""

from typing import Any

from tests.random_scenarios.draws import Draws
from tests.random_scenarios.world import Ground
from trunkline.sim.scenario.step_rules import FAULTS

#: what fails -> weight
_ON = {
    "send": 12,
    "act": 4,
    "lookup": 3,
    "thread": 2,
    "push": 2,
    "hand": 2,
    "store": 3,
    "queue": 0.7,
    "mirror": 1,
    "ready": 2,
    "connect": 2,
    "boot": 1,
}
#: only `trunkline attach` has sockets to close
_ATTACH_ONLY = {("connect", "refuse-connection")}
#: faults with a duration, and how long a fake of a platform with look-up may take
_LASTING = ("mirror", "ready", "connect", "boot")
_SLOW = ("2s", "8s", "20s")
_LONG = ("2s", "15s", "90s")


def make_fault(draws: Draws, ground: Ground, word: str) -> dict[str, Any]:
    """A fault; `word`: a text that occurs in this scenario."""
    on = draws.weighted(_ON)
    do = draws.pick([kind for kind in FAULTS[on] if (on, kind) not in _ATTACH_ONLY])
    made: dict[str, Any] = {"on": on, "do": do}
    if on in ("send", "act", "lookup", "thread", "push", "queue", "ready", "connect", "boot"):
        made |= draws.fields(**{"in": (0.5, lambda: draws.pick(ground.places))})
    if on in ("send", "push", "hand", "queue"):
        made |= draws.fields(text=(0.2, lambda: f"*{word}*"))
    if on == "send":
        made |= draws.fields(
            attempt=(0.2, lambda: draws.number(1, 3)), transport=(0.1, lambda: draws.pick(("direct", "gateway")))
        )
    if on == "store":
        made |= draws.fields(carries=(0.4, lambda: draws.pick(("inbound", "intent", "ack"))))
    if on == "act":
        made |= draws.fields(action=(0.4, lambda: draws.pick(("edit", "react", "delete", "reactions"))))
    if on in ("send", "act", "lookup", "thread", "push", "hand", "store", "boot"):
        made |= draws.fields(nth=(0.2, lambda: draws.number(1, 4)), times=(0.4, lambda: draws.pick((2, 4, 10))))
    if on in _LASTING or do in ("rate-limit", "slow-loris"):
        made["for"] = draws.pick(_LONG)
    elif do == "slow":
        made["for"] = draws.pick(_SLOW)
    return made
