"""What the Why pane says of delegations: the task, who asked, both columns, refusals; and what a message reports."""

from __future__ import annotations

from collections.abc import Iterator

from trunkline.app.text.cells import clean, quoted
from trunkline.app.text.fact import Fact, Tone, because
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.kinds import describe
from trunkline.core.events import Body, Event
from trunkline.core.events.gateway import ToolRefused
from trunkline.core.events.hands import (
    AnswerTurnedAway,
    CallbackChanged,
    DelegationAccepted,
    DelegationFinished,
    DelegationIgnored,
)

#: events of a delegation that its explanation lists, by label
_LISTED: dict[str, tuple[type[Body], ...]] = {
    "result": (DelegationFinished, DelegationIgnored),
    "refused": (AnswerTurnedAway,),
    "callback": (CallbackChanged,),
}


def delegation_facts(view: RunView, accepted: Event, event: Event) -> Iterator[Fact]:
    """A delegation, and why `event` happened to it."""
    body = accepted.body
    assert isinstance(body, DelegationAccepted)
    kind = f"{body.hand_kind} " if body.hand_kind in ("agent", "worker") else ""
    name = view.delegations.of(accepted.delegation)
    yield Fact(label="task", text=f"{quoted(body.task)} for {kind}hand {body.hand}  ({name})", seq=accepted.seq)
    if body.label:
        yield Fact(label="label", text=quoted(body.label), seq=accepted.seq)
    yield Fact(label="origin", text=f"{view.places.label(body.origin)}, frozen at #{accepted.seq}", seq=accepted.seq)
    if body.asked_by is not None:
        asked = clean(body.asked_by.name or body.asked_by.id)
        yield Fact(label="asked by", text=f"{asked} by message {clean(body.message_id or '?')}", seq=accepted.seq)
    if body.parent:
        text = f"{view.delegations.of(body.parent)}, whose hand delegated this; depth {body.depth}"
        yield Fact(label="above", text=text, seq=accepted.seq)
    yield Fact(label="session", text=body.session_key, seq=accepted.seq)
    yield from refusal_facts(event)
    for label, kinds in _LISTED.items():
        for one in view.of_delegation(accepted.delegation, *kinds):
            tone = Tone.WARN if isinstance(one.body, AnswerTurnedAway) else Tone.PLAIN
            yield Fact(label=label, text=f"#{one.seq} {describe(view, one)}", tone=tone, seq=one.seq)


def refusal_facts(event: Event) -> Iterator[Fact]:
    """Why a call, an answer or a report was refused, ended or held back."""
    body = event.body
    if isinstance(body, ToolRefused | AnswerTurnedAway):
        if body.detail:
            yield Fact(label="refused", text=clean(body.detail), tone=Tone.WARN, seq=event.seq)
        yield because(body.reason, event.seq)
    elif isinstance(body, CallbackChanged | DelegationFinished) and body.reason is not None:
        yield because(body.reason, event.seq)


def reported_fact(view: RunView, prepared: Event) -> Iterator[Fact]:
    """The delegation that a message reports."""
    for accepted in view.of_delegation(prepared.delegation, DelegationAccepted)[:1]:
        body = accepted.body
        assert isinstance(body, DelegationAccepted)
        text = f"{view.delegations.of(accepted.delegation)} of hand {clean(body.hand)}: {quoted(body.task)}"
        yield Fact(label="reports", text=text, seq=accepted.seq)
