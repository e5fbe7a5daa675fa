"""Votes in polls: by people, and by bots where the platform lets them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from trunkline.core.action_names import Action
from trunkline.core.errors import Refused
from trunkline.core.values import Poll
from trunkline.sim.platforms.actions.changes import Done, Handler, RequestedChange
from trunkline.sim.platforms.actions.message_board import BoardMessage, PostedMessage

_HOUR = 3600.0


def poll_of(message: BoardMessage) -> Poll:
    """The poll of a message. Raises `Refused` if it has none."""
    poll = message.request.poll if isinstance(message, PostedMessage) else None
    if poll is None:
        raise Refused("the message has no poll")
    return poll


def vote(message: BoardMessage, voter: str, options: Iterable[int], now: float) -> bool:
    """Replace somebody's vote by options, counted from 0; no options withdraw it. Returns false if nothing changed.

    Raises `Refused` for a poll that is over, for options that it does not have, and for too many of them.
    """
    poll, chosen = poll_of(message), tuple(sorted(set(options)))
    seconds = poll.duration_seconds if poll.duration_hours is None else poll.duration_hours * _HOUR
    if message.deleted or (seconds is not None and now - message.at >= seconds):
        raise Refused("the poll is over")
    if any(not 0 <= option < len(poll.options) for option in chosen):
        raise Refused(f"the poll has {len(poll.options)} options")
    if len(chosen) > poll.max_selections:
        raise Refused(f"at most {poll.max_selections} options can be chosen")
    if message.votes.get(voter, ()) == chosen:
        return False
    if chosen:
        message.votes[voter] = chosen
    else:
        message.votes.pop(voter, None)
    return True


def _bot_votes(change: RequestedChange) -> Done:
    """The bot votes: options by their number from 1, or by their text."""
    message, poll = change.living, poll_of(change.living)
    fields = change.fields
    given = fields.get("pollOptionIndexes") or fields.get("pollOptionIndex") or fields.get("pollOption")
    wanted = cast("list[object]", given) if isinstance(given, list) else [given or change.request.text]
    chosen: list[int] = []
    for option in wanted:
        text = str(option)
        if text in poll.options:
            chosen.append(poll.options.index(text))
        elif text.isdecimal():
            chosen.append(int(text[:4]) - 1)
        else:
            raise Refused(f"the poll has no option {text!r}")
    before = ", ".join(poll.options[number] for number in message.votes.get(change.actor, ()))
    changed = vote(message, change.actor, chosen, change.now)
    text = ", ".join(poll.options[number] for number in sorted(set(chosen)))
    return change.done_to(message, text=text, before=before, repeated=not changed)


#: the changes of polls
POLL_CHANGES: dict[Action, Handler] = {Action.POLL_VOTE: _bot_votes}
