"""What is too long is cut visibly, and counts as failed."""

from trunkline.core.hands.result_limits import bounded_result, cut
from trunkline.core.records.delegations import HandResult
from trunkline.core.states.delegation import HandOutcome


def test_a_result_that_fits_stays_as_it_is() -> None:
    assert bounded_result(HandResult(outcome=HandOutcome.OK, text="x" * 50), 50) is None


def test_of_a_longer_one_the_beginning_is_kept_and_it_has_failed() -> None:
    bounded = bounded_result(HandResult(outcome=HandOutcome.OK, text="x" * 60), 50)
    assert bounded is not None
    assert bounded.outcome is HandOutcome.ERROR
    assert (len(bounded.text), bounded.text.startswith("xxx")) == (50, True)
    assert bounded.text.endswith(" [cut: 60 characters]")


def test_a_limit_below_the_note_is_kept_too() -> None:
    assert len(cut("x" * 60, 5)) == 5
