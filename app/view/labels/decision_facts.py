"""Recorded decisions as facts, for the Why pane and for `trunkline explain`: routes, targets, policies.

The input is the body of an event: recorded by the gateway, or computed by `trunkline explain` with the same functions.
A `Name` function names a place: by its name in the run, or by its ids.
"""

from collections.abc import Callable, Iterable, Iterator

from trunkline.app.text.cells import aligned, clean, count, quoted
from trunkline.app.text.fact import Fact, Tone, because, facts, listed, reason_text, under
from trunkline.core.decisions import BOUND_TIER
from trunkline.core.events import Body, actions, gateway
from trunkline.core.events.delivery import SendJoined, SendPreviewed, SendRefused, SendRequested, TargetResolved
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, SessionEntry

Name = Callable[[Address | None], str]

#: of a route rule that won, and of one that lost
WON, LOST = "✓", "✗"


def place_of(address: Address | None) -> str:
    """A place by its ids."""
    if address is None:
        return "nowhere"
    under = f", under {address.parent}" if address.parent else ""
    return f"{address} ({address.kind}{under})"


def _numbered(seq: int) -> str:
    return f"#{seq} " if seq else ""


def route_facts(body: gateway.RouteDecided, name: Name, seq: int = 0, more: Iterable[Fact] = ()) -> Iterator[Fact]:
    """Where an inbound message belongs, then `more`, then all route rules considered."""
    rule = "binding" if body.matched_by == BOUND_TIER else "route rule"
    default = f": {Reason.DEFAULT_AGENT.sentence}" if body.matched_by == "default" else ""
    won = f"{rule} {body.binding} ({body.matched_by})" if body.binding else f"{body.matched_by}{default}"
    yield Fact("route", f"{_numbered(seq)}agent {body.agent}, by {won}", seq)
    yield Fact("session", body.session_key, seq)
    later = f"  (configuration {body.revision})" if body.revision > 1 else ""
    yield from facts(seq, ("scope", body.scope and f"{body.scope}{later}"))
    yield Fact("answer to", f"{name(body.reply_to)}  {reason_text(body.reply_reason)}", seq)
    yield from more
    yield from under("rules", _rules(body, seq))


def _rules(body: gateway.RouteDecided, seq: int) -> Iterator[Fact]:
    """A line for each route rule, in columns: mark, name, tier, reason code and its sentence."""
    rows = [(clean(rule.binding), rule.tier, rule.reason.value, rule.reason.sentence) for rule in body.candidates]
    for cells, candidate in zip(aligned(rows), body.candidates, strict=True):
        text = f"{WON if candidate.chosen else LOST} {cells}"
        yield Fact("", text, seq, Tone.GOOD if candidate.chosen else Tone.DIM)
    if body.others:
        yield Fact("", f"{count(body.others, 'other route rule')}: unrelated to this message", seq, Tone.DIM)


def target_facts(
    body: TargetResolved, name: Name, seq: int = 0, more: Iterable[Fact] = (), entry: SessionEntry | None = None
) -> Iterator[Fact]:
    """How a target was resolved: its place, then `more`, the session that remembers it, its entry, and the steps."""
    yield Fact("target", f"{_numbered(seq)}{quoted(body.target)} on {body.channel}", seq)
    yield Fact("place", name(body.address), seq)
    yield from more
    yield Fact("session", body.session_key, seq)
    yield from entry_facts(entry, seq)
    yield from listed("steps", (f"{number} {step}" for number, step in enumerate(body.steps, 1)), seq)


def entry_facts(entry: SessionEntry | None, seq: int = 0) -> Iterator[Fact]:
    """How a session describes its conversation."""
    if entry is not None:
        account = f", account {entry.account}" if entry.account is not None else ""
        thread = f", thread {entry.thread}" if entry.thread is not None else ""
        yield Fact("entry", f"{entry.chat_type} on {entry.provider} ({entry.surface}){account}{thread}", seq)
        yield Fact("", f"from {entry.sender}, to {entry.to}", seq)
        yield Fact("", f"origin {entry.originating_channel}, {entry.originating_to}", seq)


def requested_facts(body: SendRequested, seq: int = 0) -> Iterator[Fact]:
    where = f" on {body.channel}" if body.channel else ""
    yield Fact("asked", f"{_numbered(seq)}{quoted(body.text)} to {quoted(body.target)}{where}", seq)
    yield Fact("key", body.key, seq)
    yield from facts(seq, ("session", body.session_key and f"{body.session_key}, named by the client"))


def own_facts(body: Body, name: Name, seq: int = 0) -> Iterator[Fact]:
    """The facts of an event about a target, a send, a session or the configuration; nothing for any other event."""
    match body:
        case TargetResolved():
            yield from target_facts(body, name, seq)
        case SendRequested():
            yield from requested_facts(body, seq)
        case SendJoined():
            ended = "has ended: this one gets its result" if body.ended else "is still under way: this one waits for it"
            yield Fact("key", f"{body.key}; the first send {ended}", seq)
            yield because(body.reason, seq)
        case SendRefused():
            yield Fact("refused", f"{body.key}: nothing was sent or stored", seq, Tone.WARN)
            yield from facts(seq, ("because", body.reason), ("detail", body.detail))
        case SendPreviewed():
            yield Fact("dry run", f"{body.key}: nothing was sent or stored", seq)
            yield Fact("to", name(body.address), seq)
            yield Fact("session", body.session_key or "no session would remember it", seq)
            yield from listed("says", map(quoted, body.chunks), seq)
            yield from facts(seq, ("files", ", ".join(body.media)))
        case gateway.ConfigReloaded():
            changed = ", ".join(body.changed) or "nothing"
            text = f"{_numbered(seq)}revision {body.revision} applies from here on; changed: {changed}"
            yield Fact("config", text, seq)
            yield Fact("scope", f"direct conversations {body.dm_scope}, groups {body.group_scope}", seq)
            linked = (f"{person}: {', '.join(ids)}" for person, ids in body.identity_links.items())
            yield from listed("linked", linked, seq)
        case _:
            yield from _session_facts(body, name, seq)


def _session_facts(body: Body, name: Name, seq: int) -> Iterator[Fact]:
    match body:
        case gateway.SessionCreated():
            made = f"{body.session_id}, generation {body.generation}, by {body.by}, for {name(body.address)}"
            yield from facts(seq, ("session", body.session_key), ("created", made))
            yield from entry_facts(body.entry, seq)
        case gateway.SessionReset():
            yield Fact("session", body.session_key, seq)
            yield Fact("reset", f"generation {body.generation} is {body.session_id}", seq)
            yield Fact("before", f"{body.before}: its pending results are not applied to the new one", seq)
        case gateway.SessionMoved():
            yield Fact("moved", f"from {body.old_key}", seq)
            yield Fact("to", body.session_key, seq)
            yield Fact("session", f"{body.session_id}: it continues with its transcript", seq)
            yield from facts(seq, ("because", body.reason), ("detail", body.detail))
        case gateway.SessionLeft():
            left = f"{body.old_key} (session {body.old_session_id}): it keeps its transcript"
            yield Fact("left", left, seq, Tone.WARN)
            yield Fact("now", body.session_key or "no session", seq)
            yield from facts(seq, ("because", body.reason), ("detail", body.detail))
        case gateway.SessionShared():
            who = body.peer.name or body.peer.id
            yield Fact("shared", f"{body.session_key}: {who} is one of {body.people} people in it", seq, Tone.WARN)
            yield because(body.reason, seq)
        case _:
            pass


# Decisions of the cross-context policy as facts, for the Why pane and for `trunkline explain policy`.


def policy_facts(
    body: actions.PolicyDecided, name: Name, seq: int = 0, *, nowhere: str = "nowhere", more: Iterable[Fact] = ()
) -> Iterator[Fact]:
    """Whether an action may concern its target, and how its message is marked, then `more`.

    `nowhere`: what started a turn that works in no conversation.
    """
    verdict, tone = ("allowed", Tone.GOOD) if body.allowed else ("denied", Tone.BAD)
    yield Fact("policy", f"{_numbered(seq)}{body.action.value} is {verdict}", seq, tone)
    yield Fact("from", nowhere if body.origin is None else name(body.origin), seq)
    yield Fact("to", name(body.target), seq)
    yield because(body.reason, seq)
    around = [
        f"{quoted(text)} {at} the text" for text, at in ((body.mark, "before"), (body.mark_after, "after")) if text
    ]
    mark = f"an embed {quoted(body.mark_embed)}" if body.mark_embed else ", ".join(around) or "none"
    yield from facts(seq, ("error", body.detail), ("mark", mark if body.allowed and not body.detail else ""))
    yield from more
