"""The steps of a script that need no gateway: what people do, and what becomes of places, tokens and webhooks."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from mimetypes import guess_type
from typing import Any

from trunkline.core.channels.acts import album_of
from trunkline.core.errors import ConfigError, UnknownName
from trunkline.core.message_parts import FilePart, MediaKind
from trunkline.core.reasons import Reason
from trunkline.core.values import Peer
from trunkline.sim.cast.names import ChatterMessage
from trunkline.sim.events.script import FaultFired, ScriptSkipped
from trunkline.sim.platforms.actions.message_board import BoardMessage, PostedMessage
from trunkline.sim.platforms.actions.server import value_of_button
from trunkline.sim.platforms.api.inbound_pushes import PERSON, Speaker
from trunkline.sim.platforms.base import FakePlatform
from trunkline.sim.platforms.channels.voice import FakeVoice
from trunkline.sim.platforms.people import People
from trunkline.sim.platforms.rooms import Room
from trunkline.sim.run.world import World
from trunkline.sim.scenario.model.faults import Fault
from trunkline.sim.scenario.model.steps import ReplayStep, RotateStep, ScriptStep, WebhookStep
from trunkline.sim.scenario.text_pattern import text_matches

#: seconds between the messages of an album
_BETWEEN = 0.25


def _file(name: str) -> FilePart:
    mime_type = guess_type(name)[0] or "application/octet-stream"
    return FilePart(file=MediaKind.of(mime_type), name=name, mime_type=mime_type)


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
        if step.lose is not None:
            reason = Reason.REFUSED if step.lose == "failed" else Reason.DELETED_BY_OTHERS
            return partial(self._lose, step, reason)
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

    def _lose(self, step: ScriptStep, reason: Reason) -> None:
        message = self._message(step, lambda seen: isinstance(seen, PostedMessage))
        if isinstance(message, PostedMessage):
            self._world.platforms[message.room.channel].pushes.lose(message, reason)

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


#: the fields of a step that is played here
WORLD_STEPS = (
    *("say", "press", "react", "vote", "edit", "unsend", "lose", "call", "hang_up", "hold", "resume"),
    *("archive", "delete", "unarchive", "replay", "webhook", "rotate", "fault"),
)


class WorldSteps:
    """Plays steps in a world. `renew`: gives the processes of the gateway the newest token of an account."""

    def __init__(self, world: World, renew: Callable[[str, str], object]) -> None:
        self._world = world
        self._renew = renew
        self._people = PeopleSteps(world)
        #: action -> plays it with its settings
        self._plays: dict[str, Callable[[Any], None]] = {
            "replay": self._replay,
            "webhook": self._end_webhook,
            "rotate": self._rotate,
            "fault": self._arm,
        }

    def play(self, step: ScriptStep, name: str = "") -> bool:
        """Play a step; false if it is for the gateway. `name`: that of its message, if it says something.

        Raises `UnknownName` and `ConfigError` if the world does not allow it.
        """
        if self._people.play(step):
            return True
        if step.say is not None:
            self._say(step, name)
        elif step.archive or step.delete:
            self._close(step, "archived" if step.archive else "deleted")
        elif step.unarchive:
            self._reopen(step)
        else:
            return self._play_others(step)
        return True

    def _play_others(self, step: ScriptStep) -> bool:
        for action, play in self._plays.items():
            settings = getattr(step, action)
            if settings is not None:
                play(settings)
                return True
        return False

    def chat(self, said: ChatterMessage) -> None:
        """Say a message of the crowd."""
        world, ref = self._world, self._world.place(said.place)
        room, platform = world.room(ref), world.platforms[ref.platform]
        peer, message = world.peer(ref.platform, said.person), platform.message_id(said.name, room)
        platform.people.say(said.name, peer, (), room=room, text=said.text, message_id=message)

    def if_possible(self, what: str, act: Callable[[], object]) -> None:
        """Do a part of the script, or record that the world does not allow it, as in a place that is gone by now."""
        try:
            act()
        except (UnknownName, ConfigError) as error:
            self._world.events.record(ScriptSkipped(step=what, why=error.facts))

    def record_fault(self, fault: str, detail: str = "") -> int:
        """Record that a part of the script struck."""
        return self._world.events.record(FaultFired(fault=fault, detail=detail))

    def _say(self, step: ScriptStep, name: str) -> None:
        world, ref = self._world, self._world.place(step.place or "")
        room = world.room(ref)
        person = step.as_ or ""
        settings = world.scenario.world.people.get(person)
        platform = world.platforms[ref.platform]
        roles = () if settings is None else settings.roles
        message = platform.message_id(name, room)
        say = partial(platform.people.say, room=room, text=step.say or "", secret=step.secret or "")
        if step.via is not None:
            hook = platform.people.foreign_webhook(step.via)
            say(name, hook, (), message_id=message, speaker=Speaker(bot=True, webhook=hook.id))
            return
        speaker = Speaker(bot=True) if step.bot else PERSON
        peer = world.peer(ref.platform, person)
        say = partial(say, reply_chain=step.reply_chain)
        if step.files:
            parts = tuple(_file(file) for file in step.files)
            if platform.albums == "none":
                speaker = replace(speaker, parts=parts)
            else:
                self._say_album(
                    partial(say, roles=roles), peer, parts, speaker=speaker, platform=platform, room=room, name=name
                )
                return
        say(name, peer, roles, message_id=message, speaker=speaker)
        if step.proxy is not None:
            hook = platform.people.foreign_webhook(step.proxy)
            again = Speaker(bot=True, webhook=hook.id, stands_for=message)
            more = f"{name}.proxy"
            post = partial(say, more, hook, (), message_id=platform.message_id(more, room), speaker=again)
            repost = partial(self.if_possible, more, post)
            # The proxy receives the message as the gateway does, and then needs the same time again.
            world.call_at(world.now() + 2 * platform.spec.latency, repost)

    def _say_album(
        self,
        say: Callable[..., None],
        person: Peer,
        parts: tuple[FilePart, ...],
        *,
        speaker: Speaker,
        platform: FakePlatform,
        room: Room,
        name: str,
    ) -> None:
        """Say files where each of them is a message; the text stands below the first."""
        ids = [platform.message_id(f"{name}.{n}" if n > 1 else name, room) for n in range(1, len(parts) + 1)]

        def post(number: int) -> None:
            before = [message.id for message in platform.board.within(room) if message.author == person.id]
            # What the person says in between ends the act.
            goes_on = number == 0 or before[-1:] == [ids[number - 1]]
            act = ids[0] if len(parts) > 1 and goes_on else None
            album = ids[0] if platform.albums == "named" else album_of(parts)
            of_album = replace(speaker, parts=(parts[number],), album=album, act=act)
            more = {} if number == 0 else {"text": "", "secret": ""}
            say(f"{name}.{number + 1}" if number else name, person, message_id=ids[number], speaker=of_album, **more)

        post(0)
        for number in range(1, len(parts)):
            again = partial(self.if_possible, f"{name}.{number + 1}", partial(post, number))
            self._world.call_at(self._world.now() + number * _BETWEEN, again)

    def _close(self, step: ScriptStep, how: str) -> None:
        ref = self._world.place(step.place or "")
        room = self._world.room(ref)
        detail = f"{ref.tail}, locked" if step.locked else ref.tail
        self._world.platforms[ref.platform].threads.close(
            room, how, self.record_fault(how, detail), locked=bool(step.locked)
        )

    def _reopen(self, step: ScriptStep) -> None:
        ref = self._world.place(step.place or "")
        room = self._world.room(ref)
        if room.closed != "archived":
            raise UnknownName(f"{ref.key} is {room.closed or 'open'}, not archived")
        self._world.platforms[ref.platform].threads.reopen(room, self.record_fault("unarchived", ref.tail))

    def _replay(self, step: ReplayStep) -> None:
        fired = self.record_fault("replay", ", ".join(step.messages))
        for platform in self._world.platforms.values():
            platform.people.replay(step.messages, fired)

    def _end_webhook(self, step: WebhookStep) -> None:
        ref = self._world.place(step.place)
        webhooks = self._world.platforms[ref.platform].webhooks
        place = self._world.room(ref).address(ref.account)
        if step.state == "deleted" and webhooks.found(place) is None:
            raise UnknownName(f"the gateway has no webhook in {ref.key}")
        webhooks.end(place, step.state, self.record_fault(f"webhook/{step.state}", ref.tail))

    def _rotate(self, step: RotateStep) -> None:
        """Rotate a token; after a delay the running processes receive the newest one."""
        world = self._world
        account = world.account_of(step.platform, step.account)
        fired = self.record_fault("rotate", f"{step.platform}:{account}")
        world.platforms[step.platform].tokens.rotate(account, fired, step.tell)
        if step.tell > 0:
            world.call_at(world.now() + step.tell, self._renew, step.platform, account)
        else:
            self._renew(step.platform, account)

    def _arm(self, fault: Fault) -> None:
        # Faults of the first process were armed before it started.
        if fault.on != "boot" or self._world.now() > 0.0:
            self._world.arm(fault)
