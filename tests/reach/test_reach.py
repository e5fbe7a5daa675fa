"""Shipped scenarios exercise whatever a list does not leave out with a reason, and that list only gets shorter."""

import copy
import functools
import subprocess
import sys

import pytest

from tests.reach.__main__ import KINDS, differences, left_out
from tests.reach.measure import Reach
from tests.reach.measure import declared as every_field
from tests.reach.measure import fields_set as read_fields
from tests.support.paths import ROOT

#: how much the list may have of each kind: a smaller number may be written here, and no larger one
MOST = {"fields": 11, "values": 22, "kinds": 26, "reasons": 45, "transitions": 11, "modules": 73}


@functools.cache
def _read() -> Reach:
    """Every scenario is read for it, which takes seconds."""
    return read_fields()


def fields_set() -> Reach:
    return copy.deepcopy(_read())


@functools.cache
def declared() -> Reach:
    return every_field()


def test_each_field_and_value_is_in_a_scenario_or_left_out_for_a_reason() -> None:
    assert list(differences(declared(), fields_set(), ("fields", "values"))) == []


def test_the_list_only_gets_shorter() -> None:
    assert {kind: len(names) for kind, names in left_out().items()} == MOST


def test_a_field_that_nothing_sets_is_found() -> None:
    did = fields_set()
    did.fields.discard("DeliveryConfig.backoff")
    assert list(differences(declared(), did, ("fields",))) == ["fields: no scenario exercises DeliveryConfig.backoff"]


def test_what_is_listed_and_exercised_is_found() -> None:
    did = fields_set()
    name = next(iter(left_out()["fields"]))
    did.fields.add(name)
    assert list(differences(declared(), did, ("fields",))) == [f"fields: {name} is exercised or gone, and listed"]


@pytest.mark.slow
def test_runs_exercise_the_rest_and_most_statements_of_core() -> None:
    # A process of its own: what this one has computed before, it does not compute again.
    command = [sys.executable, "-m", "tests.reach"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(f"{kind}: " in done.stdout for kind in KINDS)
