"""The messages of all platforms as people see them, as values for tests of a bot."""

from collections.abc import Iterator
from typing import Any

import msgspec

from trunkline.core.declared import filled
from trunkline.core.errors import UnknownName
from trunkline.sim.platforms import FakePlatform
from trunkline.sim.platforms.actions.message_board import BoardMessage, PostedMessage
from trunkline.sim.platforms.actions.server import buttons_of
from trunkline.sim.run.world import World
from trunkline.sim.scenario.text_pattern import text_matches

#: who wrote a message: any bot, or any person
BOT, PEOPLE = "bot", "people"


class SeenPoll(msgspec.Struct, frozen=True, kw_only=True):
    """A poll, with the number of votes for each option."""

    question: str
    options: dict[str, int]


class ShownMessage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A message as people see it now, after edits."""

    #: grows with each message of the world; those of one moment in any order
    number: int
    #: e.g. ``telegram/ops/deploy`` or ``telegram/@ana``
    place: str
    id: str
    #: a person, by their name in the world, or the bot: ``bot``
    by: str
    text: str
    #: seconds since the start of the world's clock
    at: float
    account: str | None = None
    edits: int = 0
    deleted: bool = False
    pinned: bool = False
    #: emoji -> who reacted with it
    reactions: dict[str, list[str]] = {}
    buttons: tuple[str, ...] = ()
    media: tuple[str, ...] = ()
    reply_to: str | None = None
    poll: SeenPoll | None = None


class MessageFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which messages are meant. `place`: as in scenario files; `by`: ``bot``, ``people``, or a person."""

    place: str | None = None
    by: str | None = None
    #: with ``*`` for anything
    text: str | None = None
    #: only those with a greater number
    after: int = 0
    deleted: bool = False


class WorldMessages:
    """The messages of a world, numbered in the order in which they are seen first."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._numbers: dict[tuple[str, str, str, str], int] = {}

    def find(self, wanted: MessageFilter) -> list[ShownMessage]:
        """The messages that are meant, in order. Raises `UnknownName` for a place or person that is not there."""
        room = None if wanted.place is None else self._world.room(self._world.place(wanted.place))
        if wanted.by not in (None, BOT, PEOPLE) and wanted.by not in self._world.scenario.world.people:
            there = ", ".join((BOT, PEOPLE, *self._world.scenario.world.people))
            raise UnknownName(f"`by`: nobody is called {wanted.by!r}; there are: {there}")
        found: list[ShownMessage] = []
        for platform, message, number in self._all():
            if (room is not None and message.room is not room) or number <= wanted.after:
                continue
            seen = self._seen(platform, message, number)
            by = wanted.by in (None, seen.by) or (wanted.by == PEOPLE and seen.by != BOT)
            text = wanted.text is None or text_matches(wanted.text, seen.text)
            if by and text and (wanted.deleted or not message.deleted):
                found.append(seen)
        return found

    def _all(self) -> Iterator[tuple[FakePlatform, BoardMessage, int]]:
        there = [(platform, message) for platform in self._world.platforms.values() for message in platform.board.all]
        for platform, message in sorted(there, key=lambda pair: pair[1].at):
            room = message.room
            key = (platform.channel, room.owner, room.conversation, message.id)
            yield platform, message, self._numbers.setdefault(key, len(self._numbers) + 1)

    def _seen(self, platform: FakePlatform, message: BoardMessage, number: int) -> ShownMessage:
        posted = message if isinstance(message, PostedMessage) else None
        account = f":{message.room.owner}" if message.room.owner and len(platform.spec.accounts) > 1 else ""
        return filled(
            ShownMessage,
            message,
            number=number,
            place=f"{platform.channel}{account}/{message.room.name}",
            by=BOT if message.account is not None else self._name(platform, message.author),
            at=round(message.at, 6),
            reactions={
                emoji: [self._name(platform, person) for person in by] for emoji, by in message.reactions.items()
            },
            buttons=tuple(buttons_of(message)),
            media=() if posted is None else posted.media,
            reply_to=None if posted is None else posted.request.reply_to,
            poll=None if posted is None else _poll(posted),
        )

    def _name(self, platform: FakePlatform, id: str) -> str:  # noqa: A002 -- the word
        if any(platform.bot_id(account) == id for account in platform.spec.accounts):
            return BOT
        return self._world.person(platform.channel, id) or id


def _poll(message: PostedMessage) -> SeenPoll | None:
    poll = message.request.poll
    if poll is None:
        return None
    votes: list[Any] = [number for numbers in message.votes.values() for number in numbers]
    return SeenPoll(
        question=poll.question, options={text: votes.count(number) for number, text in enumerate(poll.options)}
    )
