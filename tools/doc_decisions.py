"""Generated from the decisions of `core`: state diagrams, recovery, errors of adapters, rules of channels."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import TypeVar

from tools.doc_text import codes, first_paragraph, table
from trunkline.core.channels import known_channels, rules_for
from trunkline.core.config import DeliveryConfig
from trunkline.core.delivery.policy import AttemptFacts, AttemptOutcome, NextStep, after_attempt, outcome_of
from trunkline.core.delivery.recovery import InterruptedIntent, recover
from trunkline.core.errors import (
    Ambiguous,
    NotSent,
    PlaceArchived,
    PlaceGone,
    PlatformError,
    RateLimited,
    Refused,
    Unauthorized,
)
from trunkline.core.states.binding import BINDING_TRANSITIONS, BindingStatus
from trunkline.core.states.delegation import CALLBACK_TRANSITIONS, WORK_TRANSITIONS
from trunkline.core.states.intent import TRANSITIONS, is_final, next_state
from trunkline.core.values import Address, Capabilities, ChatKind, Idempotency, IntentState

_S = TypeVar("_S", bound=StrEnum)
_E = TypeVar("_E", bound=StrEnum)

# ---------------------------------------------------------------- state diagrams


def _diagram(edges: Mapping[tuple[str, str], list[str]], start: str, final: Iterable[str]) -> str:
    lines = ["```mermaid", "stateDiagram-v2", f"    [*] --> {start}"]
    lines += [f"    {source} --> {target}: {', '.join(events)}" for (source, target), events in edges.items()]
    lines += [f"    {state} --> [*]" for state in final]
    return "\n".join([*lines, "```"]) + "\n"


def intent_diagram() -> str:
    """The life of an intent as a Mermaid diagram."""
    edges: dict[tuple[str, str], list[str]] = {}
    late: dict[str, list[str]] = {}
    for state, row in TRANSITIONS.items():
        for event in row:
            edges.setdefault((state.value, next_state(state, event).value), []).append(event.value)
            if next_state(state, event, accepted_chunks=1) is not next_state(state, event):
                late.setdefault(state.value, []).append(event.value)
    for source, events in late.items():
        edges[source, IntentState.PARTIAL.value] = [*events[:-1], f"{events[-1]} (some chunks accepted)"]
    return _diagram(edges, IntentState.PREPARED.value, [state.value for state in TRANSITIONS if is_final(state)])


def work_diagram() -> str:
    """The work of a hand as a Mermaid diagram."""
    return _table_diagram(WORK_TRANSITIONS)


def callback_diagram() -> str:
    """The report of a delegation as a Mermaid diagram."""
    return _table_diagram(CALLBACK_TRANSITIONS)


def _table_diagram(table: Mapping[_S, Mapping[_E, _S]]) -> str:
    edges: dict[tuple[str, str], list[str]] = {}
    for state, row in table.items():
        for event, after in row.items():
            edges.setdefault((state.value, after.value), []).append(event.value)
    final = [state.value for state, row in table.items() if not row]
    return _diagram(edges, next(iter(table)).value, final)


def binding_diagram() -> str:
    """The life of a binding as a Mermaid diagram."""
    edges: dict[tuple[str, str], list[str]] = {}
    for state, row in BINDING_TRANSITIONS.items():
        for event, after in row.items():
            edges.setdefault((state.value, after.value), []).append(event.value)
    final = [state.value for state, row in BINDING_TRANSITIONS.items() if not row]
    return _diagram(edges, BindingStatus.ACTIVE.value, final)


# ---------------------------------------------------------------- delivery decisions


def recovery_table() -> str:
    """What is done with an intent that an earlier process left open: idempotency x state -> action."""

    def cell(idempotency: Idempotency, state: IntentState, head: bool) -> str:
        can = Capabilities(idempotency=idempotency)
        decision = recover(
            InterruptedIntent(state=state, head=head, attempts=int(state is IntentState.SENDING), created_at=0.0),
            now=1.0,
            can=can,
            config=DeliveryConfig(),
        )
        return f"`{decision.action.value}` ({decision.reason.value})"

    rows = [
        (
            f"`{kind.value}`",
            cell(kind, IntentState.PREPARED, head=True),
            cell(kind, IntentState.SENDING, head=True),
            cell(kind, IntentState.PREPARED, head=False),
        )
        for kind in Idempotency
    ]
    return table(("idempotency", "head, `prepared`", "head, `sending`", "behind the head"), rows)


_FAILURES: tuple[PlatformError, ...] = (
    NotSent(),
    RateLimited(retry_after=30.0),
    Unauthorized(),
    PlatformError(),
    Refused(),
    PlaceGone(),
    PlaceArchived(),
    Ambiguous(),
)


def failures_table() -> str:
    """What each error of an adapter means for the next step, by what the platform can do."""
    config = DeliveryConfig()

    def step(outcome: AttemptOutcome, idempotency: Idempotency) -> str:
        can, tried = Capabilities(idempotency=idempotency), AttemptFacts(attempts=1, created_at=0.0, left_at=0.0)
        decision = after_attempt(outcome, tried=tried, now=0.0, can=can, config=config)
        same_key = decision.next is NextStep.RETRY and outcome.ambiguous
        return f"`{decision.next.value}`" + (", same key" if same_key else "")

    rows = []
    for error in _FAILURES:
        outcome = outcome_of(error)
        name, doc = f"`{type(error).__name__}`", first_paragraph(type(error).__doc__)
        rows.append((name, doc, f"`{outcome.reason.value}`", *(step(outcome, kind) for kind in Idempotency)))
    return table(("raised", "means", "reason", *(f"with `{kind.value}`" for kind in Idempotency)), rows)


# ---------------------------------------------------------------- channels


def channels_table() -> str:
    """What each platform's file says: targets, threads, ids, limits."""

    def row(name: str) -> tuple[str, ...]:
        rules = rules_for(name)
        if rules.thread_is_conversation:
            threads = "conversations of their own"
        else:
            sample = Address(channel=name, account="", kind=ChatKind.CHANNEL, conversation="1", thread="2")
            in_keys = rules.has_threads and rules.key_thread(sample) is not None
            threads = f"`:{rules.thread_word}:`" if in_keys else "none"
        kept = [kind.value for kind in ChatKind if rules.fold(kind, "Aa") == "Aa"]
        case = "counts" if len(kept) == len(ChatKind) else f"counts for a {' or '.join(kept)}" if kept else "is folded"
        return f"`{name}`", codes(rules.forms), threads, case, str(rules.text_limit)

    return table(("channel", "targets", "threads in keys", "case of ids", "characters"), map(row, known_channels()))
