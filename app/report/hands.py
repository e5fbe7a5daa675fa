"""The delegations of a store for people and for machines: a table, and one delegation with all its facts.

In the JSON every field is always present; each time is given in seconds on the gateway's clock and as text.
"""

from collections.abc import Iterator, Mapping
from shlex import quote
from typing import Any

from trunkline.app.report.layout import lines, place_json, some_fields
from trunkline.app.report.queue import holder_line, moment, times_json, when
from trunkline.app.text.cells import aligned, clean, count, cut, quoted, span
from trunkline.app.text.fact import Fact, Tone, because, facts, listed
from trunkline.core.records.delegations import DelegationRow
from trunkline.core.store.delegations import DelegationDetails, HandPost, PostVerb
from trunkline.core.store.operators.hands import HandInspection, HandPosted, HandsOverview, TakenTask

_NOTHING = "–"
#: cells of a text in a list
_TEXT = 40
#: characters of a result that a page shows
_SHOWN = 4000
_COMMANDS = {
    PostVerb.CANCEL: "end the work; its hand is stopped, and what it returns later is not reported",
    PostVerb.RETRY_CALLBACK: "send its messages again, or have its turn run again",
    PostVerb.DISCARD: "give the report up: nothing more of it is sent",
}


def table(found: HandsOverview) -> Iterator[str]:
    """Lines with the totals by both columns, and a line for each delegation."""
    counts = found.counts
    yield _totals(count(counts.total, "delegation"), counts.states)
    if counts.callbacks:
        yield _totals("reports", counts.callbacks)
    rows = found.page.rows
    if not rows and not found.page.broken:
        yield "none of them matches" if counts.total else "nothing to list"
        return
    if rows:
        head = ("work", "report", "age", "hand", "agent", "reason", "id", "task")
        yield from aligned([head, *(_cells(row, found.at) for row in rows)])
    for broken in found.page.broken:
        yield f"cannot be read  {clean(broken.id)}  {clean(broken.problem)}"
    if found.more:
        yield f"and {found.more} more: --limit {len(rows) + len(found.page.broken) + found.more}"


def _totals(what: str, counts: Mapping[Any, int]) -> str:
    by_state = ", ".join(f"{number} {state.value}" for state, number in counts.items())
    return f"{what}: {by_state}" if by_state else what


def _cells(row: DelegationRow, now: float) -> tuple[str, ...]:
    return (
        row.state.value,
        row.callback.value,
        span(now - row.accepted_at),
        clean(row.hand) + (f" ({row.kind.value})" if row.kind.value != "function" else ""),
        clean(row.agent),
        _NOTHING if row.callback_reason is None else row.callback_reason.value,
        clean(row.id),
        cut(quoted(row.label or row.task), _TEXT),
    )


def list_json(found: HandsOverview) -> dict[str, Any]:
    return {
        "total": found.counts.total,
        "states": found.counts.states,
        "callbacks": found.counts.callbacks,
        "holder": found.holder,
        "more": found.more,
        "delegations": [row_json(row, found.at) for row in found.page.rows],
        "broken": [some_fields(row, "id", "problem") for row in found.page.broken],
    }


def row_json(row: DelegationRow, now: float) -> dict[str, Any]:
    """A delegation in a list, as JSON. The ticket of a worker is a secret, and is not shown."""
    return {
        **some_fields(row, "id", "state", "callback"),
        "reason": row.callback_reason,
        "sentence": None if row.callback_reason is None else row.callback_reason.sentence,
        **some_fields(row, "hand", "kind", "task", "label", "agent", "session_key"),
        "reply_to": place_json(row.reply_to),
        **some_fields(row, "parent", "depth", "outcome", "progress", "worker"),
        "age": round(now - row.accepted_at, 3),
        **times_json(accepted=row.accepted_at, started=row.started_at, finished=row.finished_at),
        "deadline": row.deadline,
        "deadline_time": moment(row.deadline),
    }


def shown_text(found: HandInspection, option: str) -> list[str]:
    """All facts about a delegation, one line each."""
    return lines(_facts(found, option))


def _facts(found: HandInspection, option: str) -> Iterator[Fact]:
    shown, now = found.details, found.at
    yield Fact("delegation", found.id)
    if shown is None:
        yield Fact("broken", found.problem, tone=Tone.BAD)
        return
    row = shown.row
    yield Fact("work", row.state.value)
    yield Fact("report", row.callback.value)
    if row.callback_reason is not None:
        yield because(row.callback_reason)
    yield Fact("hand", f"{row.hand} ({row.kind.value})")
    yield from facts(0, ("worker", row.worker), ("label", row.label))
    yield Fact("task", quoted(row.task))
    yield from _origin(row)
    yield from _chain(shown)
    yield from _run(row, now)
    yield from _results(found, shown, now)
    # Requests that the gateway has not picked up yet: until then the states above do not show them.
    yield from listed("left", (_posted(post, now) for post in found.left), tone=Tone.WARN)
    yield from _messages(shown)
    yield from listed("can", (f"{_command(verb, found, option)}  ({_COMMANDS[verb]})" for verb in found.can))


def _origin(row: DelegationRow) -> Iterator[Fact]:
    asked = None if row.origin is None else row.origin.asked_by
    if asked is not None:
        yield Fact("asked by", f"{asked.name} ({asked.id})" if asked.name else asked.id)
    place = None if row.origin is None else row.origin.place
    if place is not None:
        yield Fact("asked at", f"{place} ({place.kind.value})")
    to = "nobody: its result goes to the delegation above" if row.reply_to is None else str(row.reply_to)
    yield Fact("answer to", to)
    yield Fact("agent", f"{row.agent}, session {row.session_key}")


def _chain(shown: DelegationDetails) -> Iterator[Fact]:
    """From the first message to the children."""
    row = shown.row
    steps = [row.inbound, row.turn, row.id]
    if row.origin is not None and row.origin.inbound != row.inbound:
        steps = [row.origin.inbound, row.origin.turn, *steps]
    yield Fact("chain", " -> ".join(steps))
    above = row.parent and f"{row.parent} (depth {row.depth})"
    yield from facts(0, ("above", above), ("below", ", ".join(shown.children)))


def _run(row: DelegationRow, now: float) -> Iterator[Fact]:
    due = row.deadline if row.finished_at is None else None
    times = {"accepted": row.accepted_at, "started": row.started_at, "finished": row.finished_at, "deadline": due}
    yield from (Fact(label, when(at, now)) for label, at in times.items() if at is not None)
    yield from facts(0, ("progress", row.progress and quoted(row.progress)))


def _results(found: HandInspection, shown: DelegationDetails, now: float) -> Iterator[Fact]:
    if shown.row.outcome is not None:
        yield Fact("outcome", shown.row.outcome.value)
    if found.result is not None:
        yield Fact("result", _cut(found.result))
    for late in shown.late:
        text = f"{late.outcome.value}, {when(late.at, now)}: {_cut(late.text)}"
        yield Fact("too late", text, tone=Tone.WARN)


def _posted(post: HandPost, now: float) -> str:
    name = post.verb.value if post.outcome is None else f"{post.verb.value}, {post.outcome.value}"
    name = f"something that cannot be read ({post.problem})" if post.problem else name
    by = f" by {post.by}" if post.by else ""
    text = f": {_cut(post.text)}" if post.text else ""
    return f"{name}{by}, {when(post.at, now)}{text}  (the gateway has not picked it up)"


def _cut(text: str) -> str:
    rest = "" if len(text) <= _SHOWN else f" and {len(text) - _SHOWN} more characters (--json has all)"
    return f"{quoted(text[:_SHOWN])}{rest}"


def _messages(shown: DelegationDetails) -> Iterator[Fact]:
    texts: list[str] = []
    for row in shown.intents:
        reason = "" if row.reason is None else f", {row.reason.value}"
        place = "" if row.address is None else f" to {row.address}"
        texts.append(f"{row.id}: {row.state.value}{reason}{place}")
    return listed("messages", texts)


def _command(verb: PostVerb, found: HandInspection, option: str) -> str:
    """A command as an operator types it."""
    return f"trunkline hands {verb.value} {quote(found.id)} {option}"


def shown_json(found: HandInspection, option: str) -> dict[str, Any]:
    shown = found.details
    document: dict[str, Any] = {"broken": found.problem or None, "holder": found.holder}
    if shown is None:
        return {"delegation": {"id": found.id}, **document, "can": []}
    row, origin = shown.row, shown.row.origin
    whole = {
        **row_json(row, found.at),
        **some_fields(row, "inbound", "turn", "session"),
        "origin": None
        if origin is None
        else {
            **some_fields(origin, "agent", "session_key", "inbound", "turn"),
            "place": place_json(origin.place),
            **some_fields(origin, "asked_by", "message_id"),
        },
        "timeout": row.timeout,
        "result": found.result,
        # Of a long result only the beginning may be left.
        "result_whole": row.result_ref is not None
        or not (found.result or "").rpartition("\n")[2].startswith("[the beginning of "),
    }
    return {
        "delegation": whole,
        **document,
        "late_results": shown.late,
        "left": [_left_json(post) for post in found.left],
        "messages": [
            {**some_fields(intent, "id", "state", "reason"), "place": place_json(intent.address)}
            for intent in shown.intents
        ],
        "children": shown.children,
        "can": [_command(verb, found, option) for verb in found.can],
    }


def _left_json(post: HandPost) -> dict[str, Any]:
    """A post, without the ticket, which is a secret."""
    facts = some_fields(post, "verb", "outcome", "text", "by", "at")
    return {**facts, "time": moment(post.at), "problem": post.problem or None}


def posted_text(done: HandPosted, *, at_once: bool) -> Iterator[str]:
    """The request made of the gateway, and which gateway acts on it."""
    post, name = done.post, clean(done.post.delegation)
    if post.verb is PostVerb.ANSWER and not done.first:
        yield f"{name}: it has a result already; this one is kept, and not reported"
    else:
        yield f"{name}: {post.verb.value} is {'done' if at_once else 'left for the gateway'}"
    yield holder_line(done.holder, at_once=at_once)


def posted_json(done: HandPosted) -> dict[str, Any]:
    post = done.post
    first = done.first if post.verb is PostVerb.ANSWER else None
    return {"verb": post.verb, "delegation": post.delegation, "first": first, "holder": done.holder}


def taken_text(task: TakenTask) -> Iterator[str]:
    """A task taken by a worker, and how to answer."""
    yield f"{clean(task.delegation)}  ticket {clean(task.ticket)}"
    if task.timeout is not None:
        yield f"to be answered within {span(task.timeout)}"
    if task.asked_by is not None:
        yield f"for {clean(task.asked_by.name or task.asked_by.id)}"
    yield quoted(task.task)
