"""Decisions of the cross-context policy as facts, for the Why pane and for `trunkline explain policy`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from trunkline.app.text.cells import quoted
from trunkline.app.text.fact import Fact, Tone, because, facts
from trunkline.app.view.labels.route_facts import Name
from trunkline.core.events.actions import PolicyDecided


def policy_facts(
    body: PolicyDecided, name: Name, seq: int = 0, *, nowhere: str = "nowhere", more: Iterable[Fact] = ()
) -> Iterator[Fact]:
    """Whether an action may concern its target, and how its message is marked, then `more`.

    `nowhere`: what started a turn that works in no conversation.
    """
    verdict, tone = ("allowed", Tone.GOOD) if body.allowed else ("denied", Tone.BAD)
    number = f"#{seq} " if seq else ""
    yield Fact("policy", f"{number}{body.action.value} is {verdict}", seq, tone)
    yield Fact("from", nowhere if body.origin is None else name(body.origin), seq)
    yield Fact("to", name(body.target), seq)
    yield because(body.reason, seq)
    around = [
        f"{quoted(text)} {at} the text" for text, at in ((body.mark, "before"), (body.mark_after, "after")) if text
    ]
    mark = f"an embed {quoted(body.mark_embed)}" if body.mark_embed else ", ".join(around) or "none"
    yield from facts(seq, ("error", body.detail), ("mark", mark if body.allowed and not body.detail else ""))
    yield from more
