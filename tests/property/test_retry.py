"""Laws of retry and of what is remembered."""

import math

from hypothesis import given
from hypothesis import strategies as st

from tests.conformance.upstream.queue_recovery import (
    Bucket,
    Counted,
    QueuedRow,
    Reconciled,
    RecoveryAnswers,
    ReplayResult,
    SendState,
    eligibility,
    recovery_step,
)
from tests.conformance.upstream.transcript_append import MirroredLine, plan_append
from trunkline.core.config import DeliveryConfig
from trunkline.core.delivery.policy import (
    AttemptFacts,
    after_attempt,
    is_permanent,
    outcome_of,
    outcome_of_error,
    wait_after,
)
from trunkline.core.errors import Ambiguous, NotSent, PlatformError
from trunkline.core.text.mirror_text import media_name, mirror_text
from trunkline.core.values import Capabilities

waits = st.lists(st.integers(0, 10**6), min_size=1, max_size=6).map(lambda steps: tuple(sorted(steps)))
times = st.integers(0, 10**9)
rows = st.builds(
    QueuedRow,
    retries=st.integers(0, 7),
    enqueued_at=times,
    last_attempt_at=st.none() | times,
    state=st.none() | st.sampled_from(SendState),
)
words = st.sampled_from(["chat not found", "network down", "bot", "not", "member", "User x", " not in room", "\n", " "])
texts = st.lists(words | st.text(max_size=5), max_size=6).map("".join)
answers = st.builds(
    RecoveryAnswers, reconciled=st.sampled_from(Reconciled), replay=st.sampled_from(ReplayResult), error=texts
)


@given(waits, st.integers(-3, 20))
def test_the_waits_go_up_and_the_last_one_repeats(steps: tuple[int, ...], count: int) -> None:
    assert wait_after(count, steps) <= wait_after(count + 1, steps)
    assert wait_after(count, steps) in (0, *steps)
    assert wait_after(max(count, len(steps)), steps) == steps[-1]


@given(waits, st.integers(1, 20))
def test_the_live_gateway_waits_as_the_table_says(steps: tuple[int, ...], attempts: int) -> None:
    config = DeliveryConfig(backoff=steps, max_attempts=21, max_age=10**7)
    tried = AttemptFacts(attempts=attempts, created_at=0.0, left_at=0.0)
    decided = after_attempt(outcome_of(NotSent()), tried=tried, now=0.0, can=Capabilities(), config=config)
    assert decided.at == wait_after(attempts, steps)


@given(rows, times, waits)
def test_a_row_is_due_exactly_when_its_time_has_come(row: QueuedRow, now: int, steps: tuple[int, ...]) -> None:
    found = eligibility(row, now, steps)
    assert found.eligible is (found.remaining == 0)
    if not found.eligible:
        assert eligibility(row, now + found.remaining, steps).eligible
        assert not eligibility(row, now + found.remaining - 1, steps).eligible
    assert eligibility(row, math.inf, steps).eligible


@given(rows, times, answers, waits)
def test_what_may_have_been_sent_is_sent_again_only_if_it_is_proven_unsent(
    row: QueuedRow, now: int, told: RecoveryAnswers, steps: tuple[int, ...]
) -> None:
    found = recovery_step(row, now, told, waits=steps)
    proven = row.state is SendState.STARTED and told.reconciled is Reconciled.NOT_SENT
    assert not found.sends or row.state is None or proven
    if found.bucket is Bucket.REMOVED:
        assert found.sends or told.reconciled is Reconciled.SENT


@given(rows, times, answers, waits)
def test_a_row_is_kept_unless_it_was_sent_or_given_up(
    row: QueuedRow, now: int, told: RecoveryAnswers, steps: tuple[int, ...]
) -> None:
    found = recovery_step(row, now, told, waits=steps)
    assert (found.row is None) is (found.bucket is not Bucket.PENDING)
    assert (found.counted is Counted.RECOVERED) is (found.bucket is Bucket.REMOVED)
    assert str(found).startswith(found.bucket.value)
    if found.row is not None:
        assert found.row.retries - row.retries in (0, 1)
        assert found.row.enqueued_at == row.enqueued_at
    if found.counted is Counted.DEFERRED_BACKOFF:
        assert found.row == row


@given(rows, answers, waits)
def test_a_row_that_keeps_failing_is_given_up(row: QueuedRow, told: RecoveryAnswers, steps: tuple[int, ...]) -> None:
    now, looks = 2 * 10**9, 0
    left: QueuedRow | None = row
    while left is not None and looks < 20:
        found = recovery_step(left, now, told, waits=steps)
        left, now, looks = found.row, now + 10**7, looks + 1
    # Only what nobody can tell of stays, and it is not sent again.
    assert left is None or (left.state is not None and told.reconciled is Reconciled.UNAVAILABLE)


@given(texts)
def test_neither_letters_nor_lines_around_it_change_what_an_error_means(text: str) -> None:
    found = is_permanent(text)
    # Not all letters come back from the other case as they were: İ does not.
    if text.swapcase().lower() == text.lower():
        assert is_permanent(text.swapcase()) is found
    assert is_permanent(f"500\n{text}\nplease try again") is found


@given(texts, st.sampled_from([PlatformError, Ambiguous, RuntimeError]))
def test_an_error_is_ambiguous_if_it_says_so_and_final_if_its_words_do(text: str, kind: type[Exception]) -> None:
    error = kind(text)
    outcome = outcome_of_error(error)
    if isinstance(error, Ambiguous):
        assert outcome == outcome_of(error)
    else:
        assert is_permanent(text) is not (outcome.retryable or outcome.ambiguous)


addresses = st.text(max_size=20) | st.text(max_size=20).map(lambda name: f"https://e.com/{name}")


@given(st.none() | st.text(max_size=20), st.lists(addresses, max_size=4))
def test_what_is_remembered_is_the_text_and_the_names_of_the_files(text: str | None, media: list[str]) -> None:
    found = mirror_text(text, media)
    said = (text or "").strip()
    if not any(one.strip() for one in media):
        assert found == (said or None)
    else:
        assert found and found.startswith(said)
        assert set(found.removeprefix(said).removeprefix("\n").split(", ")) & {
            part for one in media for part in media_name(one).split(", ")
        }


@given(st.text(max_size=10), st.lists(st.builds(MirroredLine, role=st.just("user"), text=st.text(max_size=9))))
def test_a_mirror_that_is_planned_again_changes_nothing(text: str, before: list[MirroredLine]) -> None:
    for key in (None, "k1"):
        first = plan_append("s", text, (), key=key, sessions={"s"}, lines=before)
        if first.append:
            lines = [*before, MirroredLine(role="assistant", text=first.text or "", key=key)]
            assert not plan_append("s", text, (), key=key, sessions={"s"}, lines=lines).append
