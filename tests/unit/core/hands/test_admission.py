"""Everything that is refused of a delegation, before any work starts, with its reason and what helps."""

from typing import Any

from tests.support.factories import direct
from tests.support.for_each import for_each
from trunkline.core.config import HandsConfig
from trunkline.core.errors import DelegationRefused
from trunkline.core.hands.admission import LONGEST_LABEL, AdmissionFacts, admit_delegation
from trunkline.core.hands.port import DelegationRequest
from trunkline.core.reasons import Reason
from trunkline.core.records.delegations import HandKind

CONFIG = HandsConfig.model_validate(
    {
        "limits": {"max_task": 100, "depth": 2, "open": 10, "open_per_session": 3},
        "each": {"vault": {"callers": ["boss"]}},
    }
)


def decided(asked: dict[str, Any], facts: dict[str, Any]) -> DelegationRefused | None:
    request = DelegationRequest(**{"hand": "clerk", "task": "count", **asked})
    known = AdmissionFacts(**{"agent": "main", "kind": HandKind.FUNCTION, "known": ("clerk", "helper"), **facts})
    return admit_delegation(request, known, CONFIG)


@for_each(
    ("asked", "facts", "reason", "words"),
    [
        ({"hand": "nobody"}, {"kind": None}, Reason.UNKNOWN_HAND, "there are: clerk, helper"),
        ({"hand": "nobody"}, {"kind": None, "known": ()}, Reason.UNKNOWN_HAND, "this agent has none"),
        ({"hand": "main"}, {"kind": None}, Reason.SELF_DELEGATION, "main cannot delegate to itself"),
        ({"hand": "vault"}, {}, Reason.HAND_NOT_ALLOWED, "hands.each.vault.callers"),
        ({"timeout": 0}, {}, Reason.BAD_ARGUMENT, "timeout is 0"),
        ({"timeout": -1.5}, {}, Reason.BAD_ARGUMENT, "timeout is -1.5"),
        ({"timeout": float("nan")}, {}, Reason.BAD_ARGUMENT, "timeout is nan"),
        ({"timeout": float("inf")}, {}, Reason.BAD_ARGUMENT, "timeout is inf"),
        ({"label": "x" * (LONGEST_LABEL + 1)}, {}, Reason.BAD_ARGUMENT, "label has 201 characters"),
        ({"task": " \n"}, {}, Reason.BAD_ARGUMENT, "the task is empty"),
        ({"task": "x" * 101}, {}, Reason.TEXT_TOO_LONG, "101 characters, and hands.limits.max_task is 100"),
        ({}, {"has_place": False}, Reason.NO_ORIGIN, "name one with reply_to"),
        ({"reply_to": direct("1")}, {}, Reason.BAD_ARGUMENT, "the place of this turn"),
        ({"reply_to": "user:1"}, {"has_place": False, "serves": True}, Reason.BAD_ARGUMENT, "the task"),
        ({}, {"serves": True, "has_place": False, "over": True}, Reason.PARENT_ENDED, "has ended"),
        ({}, {"depth": 2}, Reason.DEPTH_EXCEEDED, "hands.limits.depth is 2"),
        ({}, {"chain": 20, "chain_over": True}, Reason.CHAIN_EXCEEDED, "20 turns have followed each other"),
        ({}, {"in_session": 3}, Reason.SESSION_CAP, "3 open delegations"),
        ({}, {"in_all": 10}, Reason.GATEWAY_CAP, "10 open delegations"),
    ],
)
def test_it_is_refused_with_its_reason(
    asked: dict[str, Any], facts: dict[str, Any], reason: Reason, words: str
) -> None:
    refusal = decided(asked, facts)
    assert refusal is not None
    assert refusal.reason is reason
    assert words in refusal.facts


@for_each(
    ("asked", "facts"),
    [
        ({}, {}),
        ({"timeout": 0.001, "label": "x" * LONGEST_LABEL}, {}),
        ({"hand": "vault"}, {"agent": "boss"}),
        ({"reply_to": "user:1"}, {"has_place": False}),
        ({}, {"has_place": False, "serves": True, "depth": 1}),
        ({}, {"in_session": 2, "in_all": 9}),
    ],
)
def test_everything_else_is_admitted(asked: dict[str, Any], facts: dict[str, Any]) -> None:
    assert decided(asked, facts) is None
