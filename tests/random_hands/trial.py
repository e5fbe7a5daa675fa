"""Plays a random scenario of delegated work, and asks the invariants and the oracle about it."""

import json
from collections.abc import Sequence
from typing import Any

import msgspec

from tests.random_hands.generator import crashes_of, make_hand_scenario
from tests.random_hands.oracle import Oracle
from tests.random_hands.play import Trial, try_file
from trunkline.sim.scenario import load_text


def try_hands(seed: int) -> Trial:
    """Play the scenario of a seed, with its crashes."""
    return try_hand_tree(seed, make_hand_scenario(seed))


def try_hand_tree(seed: int, tree: dict[str, Any], *, bugs: Sequence[str] = ()) -> Trial:
    """Play a scenario given as plain values, with the crashes of its seed."""
    file = load_text(json.dumps(tree, ensure_ascii=False), f"hands-{seed}.yaml")
    trial = try_file(seed, file, crashes_of(seed), bugs)
    wrong = tuple(("ORACLE", fault) for fault in Oracle(trial.trace).faults())
    return msgspec.structs.replace(trial, faults=(*trial.faults, *wrong), trace=())
