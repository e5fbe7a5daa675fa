"""The words that people read: reason codes and errors."""

import re

import trunkline.core.errors
import trunkline.core.events.trace
from tests.support.for_each import for_each
from trunkline.core.config.files.problems import FileError
from trunkline.core.errors import PlatformError, Refused, StoreTooNew, TrunklineError, UsageError
from trunkline.core.reasons import Reason


def all_errors(root: type[TrunklineError] = TrunklineError) -> list[type[TrunklineError]]:
    """Every error class of core, the roots first. The simulator's own are not looked at."""
    mine = [error for error in root.__subclasses__() if error.__module__.startswith("trunkline.core.")]
    return [root, *(found for error in mine for found in all_errors(error))]


@for_each("reason", Reason)
def test_every_reason_has_a_sentence(reason: Reason) -> None:
    assert re.fullmatch(r"[A-Z].{8,}\.", reason.sentence)


@for_each("reason", Reason)
def test_every_code_is_its_name_in_lower_case(reason: Reason) -> None:
    assert reason.value == reason.name.lower().replace("_", "-")


def test_no_two_reasons_have_the_same_sentence() -> None:
    assert len({reason.sentence for reason in Reason}) == len(Reason)


#: made of the problems of a file, whose texts are its own
MADE_OF_PROBLEMS = (FileError,)


@for_each("error", [one for one in all_errors() if one not in MADE_OF_PROBLEMS], ids=lambda error: error.__name__)
def test_the_first_line_of_an_errors_docstring_is_its_message(error: type[TrunklineError]) -> None:
    first = (error.__doc__ or "").strip().splitlines()[0]
    assert re.fullmatch(r"[A-Z].+\.", first)
    assert str(error()) == first.removesuffix(".")
    assert str(error("the facts")) == f"{first.removesuffix('.')}: the facts"
    assert error("the facts").facts == "the facts"


def test_the_outline_names_every_error_of_its_module_under_its_parent() -> None:
    lines = (trunkline.core.errors.__doc__ or "").splitlines()
    outline: dict[str, str] = {}
    above: list[str] = []
    for line in lines:
        found = re.match(r"( *)([A-Z]\w+)(?:  |$)", line)
        if found:
            above = [*above[: len(found[1]) // 2], found[2]]
            outline[found[2]] = above[-2] if len(above) > 1 else "Exception"
    here = [error for error in all_errors() if error.__module__ == "trunkline.core.errors"]
    assert outline == {error.__name__: error.__bases__[0].__name__ for error in here}


def test_errors_are_caught_by_their_roots() -> None:
    assert issubclass(trunkline.core.events.trace.TraceError, UsageError)
    assert issubclass(StoreTooNew, trunkline.core.errors.StoreError)
    assert issubclass(trunkline.core.errors.PlaceGone, Refused)


def test_only_an_ambiguous_error_may_have_been_accepted() -> None:
    ambiguous = {error for error in all_errors(PlatformError) if issubclass(error, PlatformError) and error.ambiguous}
    assert ambiguous == {trunkline.core.errors.Ambiguous}


def test_only_a_refusal_is_not_tried_again() -> None:
    final = {error for error in all_errors(PlatformError) if issubclass(error, PlatformError) and not error.retryable}
    errors = trunkline.core.errors
    shared = {error for error in final if error.__module__ == errors.__name__}
    assert shared == {Refused, errors.PlaceGone, errors.CallEnded, errors.IdentityGone}
    # An adapter's own error, which is here once the adapter is imported, is one of these with more fields.
    assert all(issubclass(error, Refused) for error in final)


def test_a_platform_error_keeps_the_wait_that_was_asked_for() -> None:
    assert trunkline.core.errors.RateLimited("slow down", retry_after=2.5).retry_after == 2.5
    assert trunkline.core.errors.RateLimited().retry_after is None
