"""The life cycle of a binding, walked completely. That the store refuses the same is in tests/contract."""

from itertools import product

import pytest

from tests.support.factories import room
from tests.support.for_each import for_each
from trunkline.core.errors import IllegalTransition
from trunkline.core.reasons import Reason
from trunkline.core.records.bindings import SessionBindingRecord, TargetKind
from trunkline.core.states.binding import BINDING_TRANSITIONS, BindingEvent, BindingStatus, next_binding_status
from trunkline.core.values import Identity

S, E = BindingStatus, BindingEvent

#: written by hand from seed 002, not read from the table
LIFE = {
    (S.ACTIVE, E.TOUCH): S.ACTIVE,
    (S.ACTIVE, E.IDENTITY): S.ACTIVE,
    (S.ACTIVE, E.DRAIN): S.ENDING,
    (S.ACTIVE, E.END): S.ENDED,
    (S.ENDING, E.TOUCH): S.ENDING,
    (S.ENDING, E.IDENTITY): S.ENDING,
    (S.ENDING, E.DRAINED): S.ENDED,
    (S.ENDING, E.END): S.ENDED,
}


@for_each(("status", "event"), product(S, E))
def test_a_binding_does_what_the_table_says_or_refuses(status: BindingStatus, event: BindingEvent) -> None:
    after = LIFE.get((status, event))
    if after is not None:
        assert next_binding_status(status, event) is after
        return
    with pytest.raises(IllegalTransition, match=f"'{event.value}' on a binding that is '{status.value}'"):
        next_binding_status(status, event)


def test_every_status_is_in_the_table_and_only_what_has_ended_stays_as_it_is() -> None:
    assert set(BINDING_TRANSITIONS) == set(S)
    assert [status for status, row in BINDING_TRANSITIONS.items() if not row] == [S.ENDED]


def test_nothing_becomes_active_that_was_not() -> None:
    back = [
        (before, event)
        for before, row in BINDING_TRANSITIONS.items()
        for event, after in row.items()
        if after is S.ACTIVE and before is not S.ACTIVE
    ]
    assert back == []


def record(**fields: object) -> SessionBindingRecord:
    given: dict = {"bound_at": 100.0, "last_activity_at": 100.0, **fields}
    return SessionBindingRecord(
        binding_id="b1",
        target_session_key="main:main",
        target_kind=TargetKind.SESSION,
        conversation=room("500"),
        **given,
    )


@for_each(
    ("fields", "ends", "reason"),
    [
        ({}, None, None),
        ({"idle_timeout": 10.0}, 110.0, Reason.IDLE_EXPIRED),
        ({"max_age": 10.0}, 110.0, Reason.MAX_AGE_EXPIRED),
        ({"idle_timeout": 10.0, "max_age": 30.0}, 110.0, Reason.IDLE_EXPIRED),
        ({"idle_timeout": 10.0, "max_age": 30.0, "last_activity_at": 125.0}, 130.0, Reason.MAX_AGE_EXPIRED),
        ({"idle_timeout": 10.0, "max_age": 10.0}, 110.0, Reason.MAX_AGE_EXPIRED),
    ],
)
def test_the_earlier_deadline_ends_it_and_gives_the_reason(fields: dict, ends: float | None, reason: Reason) -> None:
    one = record(**fields)
    assert one.expires_at == ends
    if ends is None:
        assert one.routes(1e12)
        return
    assert one.expiry_reason is reason
    assert (one.routes(ends - 0.001), one.expired(ends - 0.001)) == (True, False)
    # At the deadline it is over.
    assert (one.routes(ends), one.expired(ends)) == (False, True)


@pytest.mark.parametrize("status", [S.ENDING, S.ENDED])
def test_only_an_active_one_routes(status: BindingStatus) -> None:
    assert not record(status=status, identity=Identity(id="w1", name="clerk")).routes(100.0)
