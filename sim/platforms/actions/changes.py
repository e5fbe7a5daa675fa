"""Changes: their request and their outcome, and those of messages: edits, deletions, reactions, pins, votes."""

from collections.abc import Callable, Iterable
from typing import Any, cast

import msgspec

from trunkline.core.action_catalogue import Action
from trunkline.core.actions.requests import ActionRequest
from trunkline.core.errors import Refused
from trunkline.core.values import Address, Poll
from trunkline.sim.platforms.actions.message_board import BoardMessage, PostedMessage
from trunkline.sim.platforms.actions.server import ActionHost
from trunkline.sim.platforms.rooms import Room


class PlacedAction(msgspec.Struct, frozen=True, kw_only=True):
    """A change or a question, with the conversation that it concerns."""

    platform: ActionHost
    #: the parameters beside the text, with the names of the tool
    fields: dict[str, Any]
    #: None: it concerns none
    place: Room | None
    now: float

    @property
    def room(self) -> Room:
        """The conversation. Raises `Refused` for an action without a conversation."""
        if self.place is None:
            raise Refused("no such conversation")
        return self.place


class RequestedChange(PlacedAction, frozen=True, kw_only=True):
    request: ActionRequest

    @property
    def account(self) -> str:
        return self.request.address.account

    @property
    def actor(self) -> str:
        return self.platform.bot_id(self.account)

    @property
    def message(self) -> BoardMessage:
        """The message that is meant. Raises `Refused` if its conversation never had it."""
        found = None if self.request.message_id is None else self.platform.board.get(self.room, self.request.message_id)
        if found is None:
            raise Refused("no such message")
        return found

    @property
    def living(self) -> BoardMessage:
        """The message that is meant. Raises `Refused` if it was deleted."""
        message = self.message
        if message.deleted:
            raise Refused("the message was deleted")
        return message

    def word(self, *names: str) -> str:
        """The first of these parameters that is given, else the text. Raises `Refused` if all are blank."""
        given = next((str(self.fields[name]).strip() for name in names if self.fields.get(name) not in (None, "")), "")
        found = given or self.request.text.strip()
        if not found:
            raise Refused(f"{names[0]} is missing")
        return found

    def done_to(self, message: BoardMessage, *, text: str = "", before: str = "", repeated: bool = False) -> "Done":
        return Done(
            address=message.room.address(self.account),
            provider_id=message.id,
            message=message,
            text=text,
            before=before,
            repeated=repeated,
        )

    def done_with(self, provider_id: str, *, text: str = "", before: str = "", repeated: bool = False) -> "Done":
        """The outcome of a change of something else: its id, and its new name or value."""
        where = self.request.address if self.place is None else self.place.address(self.account)
        return Done(address=where, provider_id=provider_id, text=text, before=before, repeated=repeated)


class Done(msgspec.Struct, frozen=True, kw_only=True):
    #: where it took effect
    address: Address
    #: id of the message, place or object that it concerns
    provider_id: str
    message: BoardMessage | None = None
    #: the new text, emoji or name
    text: str = ""
    #: what was there before
    before: str = ""
    #: it was so already
    repeated: bool = False


#: carries out one action
Handler = Callable[[RequestedChange], Done]


def _edit(change: RequestedChange) -> Done:
    message, rules = change.living, change.platform.rules
    if message.account != change.account or message.identity != change.request.identity:
        raise Refused("only its author can edit a message")
    text = change.platform.visible(change.request)
    if not text.strip():
        raise Refused("the new text is empty")
    if len(text) > change.platform.text_limit:
        raise Refused(f"longer than {change.platform.text_limit}")
    before, same = message.text, message.text == change.request.text
    if not same:
        if rules.edit_seconds is not None and change.now - message.at > rules.edit_seconds:
            raise Refused("the message is too old to be edited")
        if rules.edits is not None and message.edits >= rules.edits:
            raise Refused(f"the message was edited {rules.edits} times")
        message.text = change.request.text
        message.edits += 1
    return change.done_to(message, text=change.request.text, before=before, repeated=same)


def _delete(change: RequestedChange) -> Done:
    message, rules = change.message, change.platform.rules
    if message.account != change.account and not (rules.deletes_others and not message.room.owner):
        raise Refused("this account cannot delete messages of others here")
    repeated = message.deleted
    if not repeated and rules.delete_seconds is not None and change.now - message.at > rules.delete_seconds:
        raise Refused("the message is too old to be deleted")
    message.deleted, message.pinned = True, False
    return change.done_to(message, before=message.text, repeated=repeated)


def _react(change: RequestedChange) -> Done:
    """Add a reaction, or take it away; to remove none in particular takes all of the bot's."""
    message, emoji = change.living, change.request.text.strip()
    mine = [name for name, who in message.reactions.items() if change.actor in who]
    if change.request.remove:
        gone = [name for name in mine if emoji in ("", name)]
        for name in gone:
            _withdraw(message, name, change.actor)
        return change.done_to(message, text=emoji, before=" ".join(gone), repeated=not gone)
    if not emoji:
        raise Refused("there is no emoji")
    react(message, emoji, change.actor, alone=change.platform.rules.one_reaction)
    return change.done_to(message, text=emoji, before=" ".join(mine), repeated=emoji in mine)


def react(message: BoardMessage, emoji: str, who: str, *, alone: bool) -> bool:
    """Add somebody's reaction; `alone`: it replaces their others. Returns false if they had it already."""
    if who in message.reactions.get(emoji, ()):
        return False
    for other in [name for name, there in message.reactions.items() if alone and who in there]:
        _withdraw(message, other, who)
    message.reactions.setdefault(emoji, []).append(who)
    return True


def unreact(message: BoardMessage, emoji: str, who: str) -> bool:
    """Take somebody's reaction away. Returns false if they had none."""
    if who not in message.reactions.get(emoji, ()):
        return False
    _withdraw(message, emoji, who)
    return True


def _withdraw(message: BoardMessage, emoji: str, who: str) -> None:
    message.reactions[emoji].remove(who)
    if not message.reactions[emoji]:
        del message.reactions[emoji]


def _pin(change: RequestedChange) -> Done:
    message, most = change.living, change.platform.rules.pins
    pinned = sum(other.pinned for other in change.platform.board.within(message.room))
    if not message.pinned and most is not None and pinned >= most:
        raise Refused(f"{message.room.name} has {most} pinned messages already")
    repeated, message.pinned = message.pinned, True
    return change.done_to(message, repeated=repeated)


def _unpin(change: RequestedChange) -> Done:
    message = change.living
    repeated, message.pinned = not message.pinned, False
    return change.done_to(message, repeated=repeated)


# Votes in polls: by people, and by bots where the platform lets them.

_HOUR = 3600.0


def poll_of(message: BoardMessage) -> Poll:
    """The poll of a message. Raises `Refused` for a message without a poll."""
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


MESSAGE_CHANGES: dict[Action, Handler] = {
    Action.EDIT: _edit,
    Action.DELETE: _delete,
    Action.UNSEND: _delete,
    Action.REACT: _react,
    Action.PIN: _pin,
    Action.UNPIN: _unpin,
    Action.POLL_VOTE: _bot_votes,
}
