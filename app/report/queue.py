"""The queue of a store for people and for machines: a table, one intent with all its facts, and changes.

In the JSON every field is always present; each time is given in seconds on the gateway's clock and as text.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from shlex import quote
from typing import Any

from trunkline.app.report.layout import fields_json, lines, place_json, some_fields
from trunkline.app.text.cells import aligned, clean, count, cut, quoted, span
from trunkline.app.text.fact import Fact, Tone, because, facts, listed
from trunkline.core.records.rows import ContentPart, IntentRow
from trunkline.core.states.intent import DeliveryEvent
from trunkline.core.store.operators.queue import IntentInspection, QueueChange, QueueChanges, QueueOverview
from trunkline.core.store.queue_admin import IntentDetails, QueueRow
from trunkline.core.text.mirror_text import media_name
from trunkline.core.values import IntentState, Receipt

#: default of `delivery.watch`: seconds within which a running gateway notices changes by operators
WATCH = 20
_NOTHING = "–"
#: cells of a text in a list
_TEXT = 48
#: commands of operators, with their meaning
_COMMANDS = {
    DeliveryEvent.RETRY: ("retry {id}", "try it again from its next chunk"),
    DeliveryEvent.RESOLVE_CHUNK: ("resolve {id} --sent", "the platform has it: continue with the next one"),
    DeliveryEvent.RESOLVE_LAST: ("resolve {id} --sent", "the platform has it: it was the last one"),
    DeliveryEvent.RESOLVE_UNSENT: ("resolve {id} --unsent", "the platform does not have it: send it"),
    DeliveryEvent.ABANDON: ("resolve {id} --abandon", "unclear: give up on it and on the chunks after it"),
}


def ago(at: float, now: float) -> str:
    """How long ago a time was, or how far ahead it is."""
    return f"{span(now - at)} ago" if at <= now else f"in {span(at - now)}"


def moment(at: float | None) -> str | None:
    """A time as a date; none if there is no such date."""
    if at is None:
        return None
    try:
        return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")
    except (OverflowError, ValueError, OSError):
        return None


def when(at: float, now: float) -> str:
    """A time as a date, and how long ago it was."""
    date = moment(at)
    return f"{at:g} ({ago(at, now)})" if date is None else f"{date} ({ago(at, now)})"


def conservation(counts: Mapping[IntentState, int]) -> str:
    """The number of intents, in total and by state."""
    total = count(sum(counts.values()), "intent")
    by_state = ", ".join(f"{number} {state.value}" for state, number in counts.items())
    return f"{total}: {by_state}" if counts else total


def table(found: QueueOverview, nothing: str) -> Iterator[str]:
    """A line with the totals, and a line for each intent; the line `nothing` if there are some, but none of these."""
    yield conservation(found.counts)
    if not found.rows:
        yield nothing if found.counts else "nothing to list"
        return
    head = ("state", "age", "tries", "chunks", "reason", "next", "place", "id", "text")
    yield from aligned([head, *(_cells(row, found.at) for row in found.rows)])
    if found.more:
        yield f"and {found.more} more: --limit {len(found.rows) + found.more}"


def _cells(row: QueueRow, now: float) -> tuple[str, ...]:
    return (
        row.state.value,
        span(now - row.created_at),
        str(row.attempts),
        f"{row.acked}/{row.chunks}",
        _NOTHING if row.reason is None else row.reason.value,
        _NOTHING if row.next_at is None else ago(row.next_at, now),
        _NOTHING if row.address is None else clean(str(row.address)),
        clean(row.id),
        _said(row),
    )


def _said(row: QueueRow) -> str:
    """The text of an intent in a list, behind its action if it is a change."""
    text = cut(quoted(row.text), _TEXT) if row.text else ""
    return " ".join(filter(None, (clean(row.action), text))) or _NOTHING


def list_json(found: QueueOverview) -> dict[str, Any]:
    return {
        "counts": found.counts,
        "total": sum(found.counts.values()),
        "holder": found.holder,
        "more": found.more,
        "intents": [row_json(row, found.at) for row in found.rows],
    }


def row_json(row: QueueRow, now: float) -> dict[str, Any]:
    """An intent in a list, as JSON."""
    return {
        **some_fields(row, "id", "kind", "state", "reason"),
        "sentence": None if row.reason is None else row.reason.sentence,
        "place": place_json(row.address),
        "accepted_chunks": row.acked,
        "chunks": row.chunks,
        "attempts": row.attempts,
        "age": round(now - row.created_at, 3),
        **times_json(created=row.created_at, updated=row.updated_at, next=row.next_at),
        "text": row.text,
        "action": row.action or None,
    }


def times_json(**times: float | None) -> dict[str, Any]:
    """Times in seconds and as dates."""
    found: dict[str, Any] = {}
    for name, at in times.items():
        found[f"{name}_at"], found[f"{name}_time"] = at, moment(at)
    return found


def shown_text(found: IntentInspection, option: str) -> list[str]:
    """All facts about an intent, one line each."""
    return lines(_facts(found, option))


def _command(event: DeliveryEvent, found: IntentInspection, option: str) -> str:
    """A command as an operator types it."""
    words = _COMMANDS[event][0].format(id=quote(found.row.id))
    return f"trunkline queue {words} {option}"


def _facts(found: IntentInspection, option: str) -> Iterator[Fact]:
    row, shown, now = found.row, found.details, found.at
    yield Fact("intent", row.id)
    yield Fact("state", row.state.value)
    if row.reason is not None:
        yield because(row.reason)
    if shown is None:
        yield Fact("broken", found.problem, tone=Tone.BAD)
        yield Fact("created", when(row.created_at, now))
        yield Fact("can", "only be removed, once it has ended (trunkline queue purge)")
        return
    yield from _whose(shown.intent, row)
    yield from _tries(shown.intent, now)
    yield from _chunks(shown)
    yield from _besides(shown.intent.content)
    yield from _to_do(found, option)


def _whose(intent: IntentRow, row: QueueRow) -> Iterator[Fact]:
    yield Fact("kind", intent.kind.value)
    change = intent.extra.action
    if change is not None:
        changes = change.message_id or change.of
        yield from facts(0, ("action", change.action), ("changes", changes), ("fields", change.fields))
    yield Fact("place", f"{row.address} ({intent.address.kind.value})")
    yield Fact("agent", intent.agent)
    named = " (named by its caller)" if intent.named_session else ""
    yield Fact("session", _NOTHING if intent.mirror_key is None else f"{intent.mirror_key}{named}")
    answers = intent.content.reply_to
    yield from facts(0, ("turn", intent.turn), ("inbound", intent.inbound), ("delegation", intent.delegation))
    yield from facts(0, ("answers", answers))


def _tries(intent: IntentRow, now: float) -> Iterator[Fact]:
    progress = intent.progress
    yield Fact("created", when(intent.created_at, now))
    yield Fact("written", when(intent.updated_at, now))
    only = ", at most one (best effort)" if intent.best_effort else ""
    yield Fact("tries", f"{progress.attempts} of its next chunk{only}")
    if progress.next_at is not None:
        yield Fact("next", when(progress.next_at, now))
    if progress.doubt_at is not None:
        yield Fact("in doubt", f"since {when(progress.doubt_at, now)}")
    marked = "its next attempt says that it may be a repeat" if progress.marked else None
    yield from facts(0, ("transport", progress.transport), ("marked", marked))


def _chunks(shown: IntentDetails) -> Iterator[Fact]:
    chunks = shown.intent.content.chunks
    for n, text in enumerate(chunks):
        label = f"chunk {n + 1}/{len(chunks)}"
        yield Fact(label, f"{_fate(shown, n)}  {quoted(text) if text else '(no text)'}")


def _fate(shown: IntentDetails, n: int) -> str:
    if n < len(shown.receipts):
        receipt = shown.receipts[n]
        place = "" if receipt.address == shown.intent.address else f" at {receipt.address}"
        return f"accepted as {receipt.provider_id or '(no id)'}{place}{', and lost since' if receipt.lost else ''}"
    progress = shown.intent.progress
    if n > progress.acked:
        return "not sent"
    in_doubt = progress.state in (IntentState.UNKNOWN, IntentState.SENDING) or progress.doubt_at is not None
    return "in doubt" if in_doubt else "not sent"


def _besides(content: ContentPart) -> Iterator[Fact]:
    if content.media:
        yield Fact("media", ", ".join(media_name(address) for address in content.media))
    if content.poll is not None:
        yield Fact("poll", f"{content.poll.question}: {' | '.join(content.poll.options)}")
    yield from facts(0, ("payload", content.payload))


def _to_do(found: IntentInspection, option: str) -> Iterator[Fact]:
    """Work that the gateway still has to do for an intent, and what operators can do."""
    details = found.details
    if details is not None and details.mirror_due:
        yield Fact("mirror", "its transcript line is not stored yet", tone=Tone.WARN)
    if details is not None and details.intent.hooks_pending:
        yield Fact("hooks", "not yet notified of its outcome")
    if details is not None and details.replaced_by is not None:
        text = f"its client sent it again: {details.replaced_by} counts"
        yield Fact("replaced", text, tone=Tone.WARN)
    yield from listed("can", (f"{_command(event, found, option)}  ({_COMMANDS[event][1]})" for event in found.can))


def shown_json(found: IntentInspection, option: str) -> dict[str, Any]:
    shown = found.details
    document: dict[str, Any] = {"broken": found.problem or None, "holder": found.holder}
    if shown is None:
        return {"intent": row_json(found.row, found.at), **document, "can": []}
    intent, content = shown.intent, shown.intent.content
    whole = {
        **row_json(found.row, found.at),
        "agent": intent.agent,
        "session_key": intent.mirror_key,
        **some_fields(intent, "named_session", "turn", "inbound", "delegation"),
        "reply_to": content.reply_to,
        "best_effort": intent.best_effort,
        "transport": intent.progress.transport,
        "marked": intent.progress.marked,
        **some_fields(content, "media", "poll", "payload"),
        "parts": intent.extra.parts,
        "change": intent.extra.action,
        "hooks_untold": intent.hooks_pending,
        "mirror_due": shown.mirror_due,
        "replaced_by": shown.replaced_by,
        **times_json(doubt=intent.progress.doubt_at),
    }
    chunks = [
        {"text": text, "fate": _fate(shown, n).partition(" as ")[0], "receipt": _receipt(shown.receipts, n)}
        for n, text in enumerate(content.chunks)
    ]
    can = [_command(event, found, option) for event in found.can]
    return {"intent": whole, **document, "chunks": chunks, "can": can}


def _receipt(receipts: tuple[Receipt, ...], n: int) -> dict[str, Any] | None:
    if n >= len(receipts):
        return None
    return {"message_id": receipts[n].provider_id, "place": place_json(receipts[n].address)}


def changed_text(done: QueueChanges, *, at_once: bool) -> Iterator[str]:
    """The changes, a line for each intent, and which gateway acts on them."""
    for change in done.changes:
        yield f"{clean(change.id)}: was {change.before.value}, is {change.after.value}{_rest(change)}"
    for left in done.skipped:
        yield f"{clean(left.id)}: unchanged: {clean(left.why)}"
    yield holder_line(done.holder, at_once=at_once) if done.changes else "nothing was changed"


def holder_line(holder: str | None, *, at_once: bool) -> str:
    """Which gateway acts on a change. `at_once`: it was asked itself; else it finds the change in its store."""
    if holder is None:
        return "no gateway holds this store: the next one that starts picks it up"
    if at_once:
        return f"{clean(holder)} holds this store, and acts on it now"
    return f"{clean(holder)} holds this store, and picks it up within its delivery.watch ({WATCH}s by default)"


def _rest(change: QueueChange) -> str:
    if change.after is IntentState.UNKNOWN:
        return ", and given up"
    if change.after is not IntentState.PREPARED:
        return ""
    doubt = "; that chunk was in doubt, and may be seen twice" if change.was_in_doubt else ""
    return f", from chunk {change.acked + 1} of {change.chunks}{doubt}"


def changed_json(verb: str, done: QueueChanges) -> dict[str, Any]:
    return {
        "verb": verb,
        "changed": [fields_json(change, acked="accepted_chunks") for change in done.changes],
        "skipped": done.skipped,
        "holder": done.holder,
    }
