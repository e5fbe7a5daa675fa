"""Compares delegations, and what agents were given, with what a scenario expects of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec

from trunkline.core.events import Event
from trunkline.core.events.gateway import TurnStarted
from trunkline.core.events.hands import CallbackChanged, DelegationAccepted, DelegationFinished, DelegationStarted
from trunkline.core.reasons import Reason
from trunkline.core.states.delegation import ENDED_BY, CallbackState, WorkState, next_work_state
from trunkline.core.values import Address, Peer
from trunkline.sim.events.hands import AgentGiven
from trunkline.sim.scenario.model.hands import ExpectedDelegation, ExpectedGiven
from trunkline.sim.scenario.text_pattern import text_matches


class EndedDelegation(msgspec.Struct, kw_only=True):
    """A delegation at the end of a run, in both columns."""

    id: str
    accepted: DelegationAccepted
    #: the agent whose turn delegated it
    agent: str = ""
    work: WorkState = WorkState.ACCEPTED
    callback: CallbackState = CallbackState.WAITING
    reason: Reason | None = None
    result: str = ""


def delegations_of(events: Iterable[Event]) -> tuple[EndedDelegation, ...]:
    """Every delegation of a run, in order of acceptance."""
    found: dict[str, EndedDelegation] = {}
    agents: dict[str | None, str] = {}
    for event in events:
        body, known = event.body, found.get(event.delegation or "")
        if isinstance(body, TurnStarted):
            agents[event.turn] = body.agent
        elif isinstance(body, DelegationAccepted):
            agent = agents.get(event.turn, "")
            found[event.delegation or ""] = EndedDelegation(id=event.delegation or "", accepted=body, agent=agent)
        elif known is None:
            continue
        elif isinstance(body, DelegationStarted):
            known.work = WorkState.RUNNING
        elif isinstance(body, DelegationFinished):
            known.work, known.result = next_work_state(known.work, ENDED_BY[body.outcome]), body.text
        elif isinstance(body, CallbackChanged):
            known.callback, known.reason = body.state, body.reason
    return tuple(found.values())


def delegation_fits(
    wanted: ExpectedDelegation,
    ended: EndedDelegation,
    is_person: Callable[[str, Peer], bool],
    address: Callable[[str], Address | None],
) -> bool:
    """Whether a delegation has everything that is expected. `is_person`: whether a peer is a person of the world."""
    body = ended.accepted
    exact = (
        (wanted.hand, body.hand),
        (wanted.label, body.label),
        (wanted.agent, ended.agent),
        (wanted.work, ended.work),
        (wanted.callback, ended.callback),
        (wanted.reason, ended.reason),
    )
    if any(want is not None and want != have for want, have in exact):
        return False
    if wanted.asked_by is not None and (body.asked_by is None or not is_person(wanted.asked_by, body.asked_by)):
        return False
    if wanted.place is not None:
        place = address(wanted.place)
        if place is None or body.origin is None or body.origin.lane != place.lane:
            return False
    texts = ((wanted.task, body.task), (wanted.result, ended.result))
    return all(want is None or text_matches(want, have) for want, have in texts)


def given_fits(wanted: ExpectedGiven, body: AgentGiven, is_person: Callable[[str, Peer], bool]) -> bool:
    """Whether an agent was given everything that is expected."""
    exact = (
        (wanted.agent, body.agent),
        (wanted.sender, body.peer.id),
        (wanted.callback, body.hand),
        (wanted.outcome, body.outcome),
    )
    if any(want is not None and want != have for want, have in exact):
        return False
    if wanted.asked_by is not None and (body.asked_by is None or not is_person(wanted.asked_by, body.asked_by)):
        return False
    if wanted.text is not None and not text_matches(wanted.text, body.text):
        return False
    if wanted.prompts is None:
        return True
    texts = [prompt.text for prompt in body.prompts]
    return len(texts) == len(wanted.prompts) and all(map(text_matches, wanted.prompts, texts))


def described(wanted: ExpectedDelegation | ExpectedGiven) -> str:
    """An expected delegation in one line, in the words of the file."""
    given = [name for name in type(wanted).model_fields if name != "times" and name in wanted.model_fields_set]
    facts = [f"{name} {_words(getattr(wanted, name))}" for name in given]
    return f"{wanted.times}× {', '.join(facts) or 'any'}"


def _words(value: object) -> str:
    return " + ".join(map(str, value)) if isinstance(value, tuple) else str(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def shown_delegation(ended: EndedDelegation) -> str:
    """A delegation in one line."""
    label = f" ({ended.accepted.label})" if ended.accepted.label else ""
    reason = f", {ended.reason}" if ended.reason is not None else ""
    work = f"{ended.id} {ended.accepted.hand}{label}: {ended.work}"
    return f"{work}, “{_cut(ended.result)}”, callback {ended.callback}{reason}"


def shown_given(body: AgentGiven) -> str:
    """A prompt that an agent was given, in one line."""
    asked = "nobody" if body.asked_by is None else body.asked_by.name or body.asked_by.id
    prompts = " + ".join(f"“{_cut(prompt.text)}”" for prompt in body.prompts) or "no prompt"
    return f"{body.agent}: “{_cut(body.text)}” from {body.peer.id}, asked by {asked}, {prompts}"


def _cut(text: str, most: int = 60) -> str:
    return text if len(text) <= most else f"{text[:most]}…"


def givens_of(events: Sequence[Event]) -> list[AgentGiven]:
    """The prompts that agents were given in a run."""
    return [event.body for event in events if isinstance(event.body, AgentGiven)]
