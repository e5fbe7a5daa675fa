"""Plays the steps in which people react, vote, press buttons, and edit or delete what they wrote."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from trunkline.core.errors import UnknownName
from trunkline.core.values import Peer
from trunkline.sim.platforms import FakeVoice
from trunkline.sim.platforms.actions.buttons import value_of_button
from trunkline.sim.platforms.actions.message_board import BoardMessage, PostedMessage
from trunkline.sim.platforms.people import People
from trunkline.sim.run.world import World
from trunkline.sim.scenario.model.scenario import ScriptStep
from trunkline.sim.scenario.text_pattern import text_matches


class PeopleSteps:
    """Steps of people that are no messages."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._presses = 0

    def play(self, step: ScriptStep) -> bool:
        """Play a step; false if it is none of these. Raises `UnknownName` if the world does not allow it."""
        act = self._act_of(step) or self._act_in_call(step)
        if act is None:
            return False
        act()
        return True

    def _act_of(self, step: ScriptStep) -> Callable[[], None] | None:
        if step.press is not None:
            return partial(self._press, step, step.press)
        if step.react is not None:
            return partial(self._react, step, step.react)
        if step.vote is not None:
            return partial(self._vote, step, step.vote)
        if step.edit is not None:
            return partial(self._edit, step, step.edit)
        return partial(self._unsend, step) if step.unsend else None

    def _act_in_call(self, step: ScriptStep) -> Callable[[], object] | None:
        """The action of a person on a call; None for none. The file is only read with a place that has calls."""
        if not (step.call or step.hang_up or step.hold or step.resume):
            return None
        ref = self._world.place(step.place or "")
        platform = self._world.platforms[ref.platform]
        assert isinstance(platform, FakeVoice)
        if step.call is not None:
            return lambda: platform.exchange.call(self._world.room(ref), self._peer(step), step.call or "")
        if step.hang_up:
            return lambda: platform.exchange.hang_up(self._world.room(ref))
        return lambda: platform.exchange.hold(self._world.room(ref), on=bool(step.hold))

    def _press(self, step: ScriptStep, button: str) -> None:
        self._presses += 1
        settings = self._world.scenario.world.people.get(step.as_ or "")
        message = self._message(step, partial(_has_button, button))
        roles = () if settings is None else settings.roles
        self._people(step).press(f"press{self._presses}", self._peer(step), roles, message, button)

    def _react(self, step: ScriptStep, emoji: str) -> None:
        message = self._message(step, lambda seen: isinstance(seen, PostedMessage) or step.of is not None)
        self._people(step).react(self._peer(step), message, emoji, remove=bool(step.remove))

    def _vote(self, step: ScriptStep, options: tuple[str, ...]) -> None:
        message = self._message(step, lambda seen: isinstance(seen, PostedMessage) and seen.request.poll is not None)
        self._people(step).vote(self._peer(step), message, options)

    def _edit(self, step: ScriptStep, text: str) -> None:
        self._people(step).edit(self._peer(step), self._own(step), text)

    def _unsend(self, step: ScriptStep) -> None:
        self._people(step).unsend(self._peer(step), self._own(step))

    def _own(self, step: ScriptStep) -> BoardMessage:
        author = self._peer(step).id
        return self._message(step, lambda message: message.author == author)

    def _message(self, step: ScriptStep, fits: Callable[[BoardMessage], bool]) -> BoardMessage:
        """The message that a step is about: named by `of`, else the newest one that fits."""

        def both(message: BoardMessage) -> bool:
            return fits(message) and (step.of is None or text_matches(step.of, _shown(message)))

        room = self._world.room(self._world.place(step.place or ""))
        return self._people(step).message(room, step.of, both)

    def _people(self, step: ScriptStep) -> People:
        return self._world.platforms[self._world.place(step.place or "").platform].people

    def _peer(self, step: ScriptStep) -> Peer:
        return self._world.peer(self._world.place(step.place or "").platform, step.as_ or "")


def _shown(message: BoardMessage) -> str:
    """The text that people read first: the question of a poll, else the message's own."""
    poll = message.request.poll if isinstance(message, PostedMessage) else None
    return message.text if poll is None else poll.question


def _has_button(button: str, message: BoardMessage) -> bool:
    try:
        value_of_button(message, button)
    except UnknownName:
        return False
    return True
