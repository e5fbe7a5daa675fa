"""Decisions of the cross-context policy as facts, for the Why pane and for `trunkline explain policy`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from trunkline.app.text.cells import quoted
from trunkline.app.text.fact import Fact, Tone, because, clean_fact
from trunkline.app.view.labels.route_facts import Name
from trunkline.core.events import Event
from trunkline.core.events.actions import PolicyDecided
from trunkline.core.events.gateway import TurnStarted

if TYPE_CHECKING:
    # The command line explains without the simulator, which an index of a run needs.
    from trunkline.app.view.index.run_index import RunView


def policy_facts(
    body: PolicyDecided, name: Name, seq: int = 0, *, nowhere: str = "nowhere", more: Iterable[Fact] = ()
) -> Iterator[Fact]:
    """Whether an action may concern its target, and how its message is marked, then `more`.

    `nowhere`: what started a turn that works in no conversation.
    """
    verdict, tone = ("allowed", Tone.GOOD) if body.allowed else ("denied", Tone.BAD)
    number = f"#{seq} " if seq else ""
    yield clean_fact("policy", f"{number}{body.action.value} is {verdict}", seq, tone)
    yield clean_fact("from", nowhere if body.origin is None else name(body.origin), seq)
    yield clean_fact("to", name(body.target), seq)
    yield because(body.reason, seq)
    if body.detail:
        yield clean_fact("error", body.detail, seq)
    elif body.allowed:
        yield clean_fact("mark", _mark(body), seq)
    yield from more


def _mark(body: PolicyDecided) -> str:
    if body.mark_embed:
        return f"an embed {quoted(body.mark_embed)}"
    around = [f"{quoted(text)} {where} the text" for text, where in _texts(body) if text]
    return ", ".join(around) or "none"


def _texts(body: PolicyDecided) -> tuple[tuple[str, str], ...]:
    return (body.mark, "before"), (body.mark_after, "after")


def recorded_policy(view: RunView, event: Event) -> Iterator[Fact]:
    """The facts of a recorded decision."""
    body = event.body
    assert isinstance(body, PolicyDecided)
    started = view.nearest(event.seq, TurnStarted)
    work = started.body.work.value if started is not None and isinstance(started.body, TurnStarted) else "nowhere"
    more = [clean_fact("setting", f"tools.message.{body.setting}", event.seq)] if body.setting else []
    yield from policy_facts(body, view.places.label, event.seq, nowhere=work, more=more)
