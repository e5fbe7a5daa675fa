"""The delegations behind ``/tasks`` and ``/cancel``, and the replies: delegations requested by a person."""

from collections.abc import Sequence

from trunkline.core.records.delegations import DelegationRow
from trunkline.core.states.delegation import WorkState
from trunkline.core.values import Address, ChatKind, Peer

#: characters of a task that a list shows
_SHOWN = 80
#: the shortest end of an id that names a delegation
_SHORTEST = 4


def may_end(row: DelegationRow, place: Address, peer: Peer) -> bool:
    """Whether a person has asked for a delegation, in this conversation."""
    origin = row.origin
    return origin is not None and origin.asked_by is not None and origin.asked_by.id == peer.id and _is_of(row, place)


def _is_of(row: DelegationRow, place: Address) -> bool:
    """Whether a delegation was asked for in a conversation, or is answered there."""
    origin = row.origin
    return origin is not None and any(
        own is not None and own.lane == place.lane for own in (origin.place, origin.reply_to)
    )


def visible_tasks(
    rows: Sequence[DelegationRow], place: Address, peer: Peer, *, owner: bool
) -> tuple[DelegationRow, ...]:
    """The open delegations which a person may see and end: requested by the person in this conversation.

    An owner has all of it, and of every conversation where nobody else reads the reply: what one person has asked for
    in private is nothing for a group.
    """
    alone = place.kind is ChatKind.DIRECT

    def shown(row: DelegationRow) -> bool:
        return alone or _is_of(row, place) if owner else may_end(row, place, peer)

    return tuple(row for row in rows if row.parent is None and shown(row))


def tasks_named(rows: Sequence[DelegationRow], argument: str) -> tuple[DelegationRow, ...]:
    """The delegations named by an argument: by id, by label, or by the end of the id."""
    exact = tuple(row for row in rows if argument in (row.id, row.label))
    if exact or len(argument) < _SHORTEST:
        return exact
    return tuple(row for row in rows if row.id.endswith(argument))


def tasks_reply(rows: Sequence[DelegationRow], now: float) -> str:
    if not rows:
        return "Nothing is in progress here."
    return "\n".join(_line(row, now) for row in rows)


def _line(row: DelegationRow, now: float) -> str:
    what = row.label or _cut(row.task)
    state = "waits for a worker" if row.state is WorkState.ACCEPTED else f"runs for {_time(now - row.accepted_at)}"
    progress = f"; {_cut(row.progress)}" if row.progress else ""
    return f"- {row.hand}: {what} ({state}{progress}). /cancel {row.id}"


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}..."


def _time(seconds: float) -> str:
    whole = max(int(seconds), 0)
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60} min" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60} min"


def ambiguous_reply(rows: Sequence[DelegationRow], argument: str, now: float) -> str:
    """The reply to a ``/cancel`` for none or several of the tasks in progress."""
    if not rows:
        return "Nothing is in progress here that you may cancel."
    why = f"{argument!r} names none of them, or several" if argument else "Which one?"
    return f"{why}\n{tasks_reply(rows, now)}"


def cancel_reply(row: DelegationRow, *, ended_before: bool) -> str:
    """The reply to a successful ``/cancel``."""
    what = f"{row.hand}: {row.label or _cut(row.task)}"
    return f"{what} had ended already." if ended_before else f"Cancelled {what}."
