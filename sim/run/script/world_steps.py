"""The steps of a script that need no gateway: what people do, and what becomes of places, tokens and webhooks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from trunkline.core.errors import ConfigError, UnknownName
from trunkline.sim.cast.names import ChatterMessage
from trunkline.sim.events.script import FaultFired, ScriptSkipped
from trunkline.sim.platforms.api.inbound_pushes import PERSON, Speaker
from trunkline.sim.run.script.people_steps import PeopleSteps
from trunkline.sim.run.world import World
from trunkline.sim.scenario.model.scenario import Fault, ReplayStep, RotateStep, ScriptStep, WebhookStep

#: the fields of a step that is played here
WORLD_STEPS = (
    *("say", "press", "react", "vote", "edit", "unsend", "call", "hang_up", "hold", "resume"),
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

    def if_possible(self, what: str, act: Callable[[], None]) -> None:
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
        say(name, peer, roles, message_id=message, reply_chain=step.reply_chain, speaker=speaker)
        if step.proxy is not None:
            hook = platform.people.foreign_webhook(step.proxy)
            again = Speaker(bot=True, webhook=hook.id, stands_for=message)
            more = f"{name}.proxy"
            post = partial(say, more, hook, (), message_id=platform.message_id(more, room), speaker=again)
            repost = partial(self.if_possible, more, post)
            # The proxy receives the message as the gateway does, and then needs the same time again.
            world.call_at(world.now() + 2 * platform.spec.latency, repost)

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
