"""The answers of a platform to questions: reactions, messages, pins, votes. They have the field names of the tool."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from trunkline.core.action_names import Action
from trunkline.core.actions.requests import ActionQuery
from trunkline.core.errors import Refused
from trunkline.sim.platforms.actions.hosts import ActionHost
from trunkline.sim.platforms.actions.message_board import BoardMessage, PostedMessage
from trunkline.sim.platforms.actions.polls import poll_of
from trunkline.sim.platforms.rooms import Room

#: entries of a list, unless the question asks for fewer
_MOST = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question that a platform is asked."""

    platform: ActionHost
    query: ActionQuery
    #: the parameters, with the names of the tool
    fields: dict[str, Any]
    #: the conversation that it concerns; None: it concerns none
    place: Room | None
    now: float

    @property
    def account(self) -> str:
        return self.query.address.account

    @property
    def room(self) -> Room:
        """The conversation. Raises `Refused` for a question that names none."""
        if self.place is None:
            raise Refused("no such conversation")
        return self.place

    @property
    def message(self) -> BoardMessage:
        """The message that is meant. Raises `Refused` if it is not there."""
        named, poll = self.query.message_id, self.fields.get("pollId")
        found = None if named is None else self.platform.board.get(self.room, named)
        if named is None and poll is not None:
            of_poll = (
                post for post in self.platform.board.sent if post.receipt.poll_id == poll and post.room is self.room
            )
            found = next(of_poll, None)
        if found is None or found.deleted:
            raise Refused("no such message")
        return found

    def newest(self, messages: list[BoardMessage]) -> list[dict[str, Any]]:
        """The last messages, newest first, as many as `limit` says."""
        limit = self.fields.get("limit", _MOST)
        most = min(_MOST, limit) if isinstance(limit, int) and limit > 0 else _MOST
        return [_message(message) for message in reversed(messages[-most:])]


#: answers one question
Answer = Callable[[Question], Any]


def _message(post: BoardMessage) -> dict[str, Any]:
    return {"messageId": post.id, "authorId": post.author, "text": post.text, "at": post.at, "pinned": post.pinned}


def _reactions(question: Question) -> list[dict[str, Any]]:
    return [
        {"emoji": emoji, "count": len(who), "users": list(who)} for emoji, who in question.message.reactions.items()
    ]


def _read(question: Question) -> list[dict[str, Any]]:
    return question.newest(list(question.platform.board.within(question.room)))


def _pins(question: Question) -> list[dict[str, Any]]:
    return question.newest([message for message in question.platform.board.within(question.room) if message.pinned])


def _poll_results(question: Question) -> dict[str, Any]:
    """The votes of a poll so far. An anonymous poll does not say who voted."""
    message = question.message
    poll = poll_of(message)
    chosen = [option for options in message.votes.values() for option in options]
    found: dict[str, Any] = {
        "messageId": message.id,
        "pollId": cast("PostedMessage", message).receipt.poll_id,
        "question": poll.question,
        "options": [{"text": text, "votes": chosen.count(number)} for number, text in enumerate(poll.options)],
        "voters": len(message.votes),
    }
    if not poll.anonymous:
        found["votes"] = {voter: [poll.options[index] for index in options] for voter, options in message.votes.items()}
    return found


#: the questions about messages
MESSAGE_QUESTIONS: dict[Action, Answer] = {
    Action.REACTIONS: _reactions,
    Action.READ: _read,
    Action.LIST_PINS: _pins,
    Action.POLL_RESULTS: _poll_results,
}
