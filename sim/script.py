"""Playing the script: each step happens at its time; crashes and the like may wait for an event instead."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from core.errors import ConfigError, UnknownName
from core.events import BODIES, Event
from core.events.bodies import FaultFired, ScriptSkipped
from core.send import SendMessage
from sim.faults import text_matches
from sim.process import GatewayProcess
from sim.scenario.model import Crash, SendStep, Step, When
from sim.world import World


@dataclass(slots=True)
class _Trigger:
    when: When
    left: int
    fire: Callable[[Event], None]


class ScriptPlayer:
    """Plays a scenario's script in its world."""

    def __init__(self, world: World, process: GatewayProcess) -> None:
        self._world = world
        self._process = process
        self._triggers: dict[str, list[_Trigger]] = {}
        self._says = iter(world.file.say_ids)
        self._reloads = iter(world.file.reloads)
        self._sends = 0
        #: steps that have not happened yet
        self.left = len(world.scenario.script)
        awaited = {BODIES[step.crash.when.event] for step in world.scenario.script if step.crash and step.crash.when}
        if awaited:
            world.log.subscribe(self._see, *awaited)

    def start(self) -> None:
        """Put every step at its time."""
        for step, at in zip(self._world.scenario.script, self._world.file.times, strict=True):
            name = next(self._says) if step.say is not None else ""
            self._world.at(at, self._play, step, name)

    def heal(self) -> None:
        """No new faults: triggers that have not fired are dropped."""
        self._triggers.clear()

    def _play(self, step: Step, name: str) -> None:
        self.left -= 1
        try:
            self._act(step, name)
        except (UnknownName, ConfigError) as error:
            what = name or ", ".join(sorted(step.model_fields_set - {"at", "after", "place"}))
            body = ScriptSkipped(step=what, why=error.facts)
            self._world.events.record(body)
        self._world.poke()

    def _act(self, step: Step, name: str) -> None:
        if step.say is not None:
            self._say(step, name)
        elif step.send is not None:
            self._send(step.send)
        elif step.wake is not None:
            self._process.wake(step.wake.agent, step.wake.text, None)
        elif step.crash is not None:
            self._crash(step.crash)
        elif step.restart is not None:
            fired = self._fired("restart")
            self._process.stop("restart", fired, step.restart.down)
        elif step.reload is not None:
            self._process.reload(next(self._reloads))
        elif step.reset is not None:
            agent = step.reset.agent or self._process.config.default_agent
            self._process.reset(agent, self._world.address(step.place or ""))
        elif step.replay is not None:
            fired = self._fired("replay", ", ".join(step.replay.messages))
            for platform in self._world.platforms.values():
                platform.replay(step.replay.messages, fired)
        elif step.archive or step.delete:
            self._close(step, "archived" if step.archive else "deleted")
        elif step.fault is not None:
            self._world.faults.arm(step.fault)

    def _fired(self, fault: str, detail: str = "") -> int:
        return self._world.events.record(FaultFired(fault=fault, detail=detail))

    def _say(self, step: Step, name: str) -> None:
        world, ref = self._world, self._world.place(step.place or "")
        room = world.room(ref)
        person = step.as_ or ""
        settings = world.scenario.world.people.get(person)
        platform = world.platforms[ref.platform]
        roles = () if settings is None else settings.roles
        message = platform.message_id(name, room)
        platform.say(
            name,
            world.peer(ref.platform, person),
            roles,
            room,
            message,
            step.say or "",
            secret=step.secret or "",
            reply_chain=step.reply_chain,
        )

    def _send(self, send: SendStep) -> None:
        """A client of the gateway sends something."""
        self._sends += 1
        process = self._process
        agent = send.agent or process.config.default_agent
        to = self._world.address(send.to) if send.to is not None else send.target or ""
        message = SendMessage(
            to=to,
            text=send.text,
            media=send.media,
            channel=send.channel,
            account=send.account,
            thread=send.thread,
            agent=send.agent,
            session_key=None if send.session is None else process.session_key(agent, send.session),
            key=f"send{self._sends}" if send.key is None else send.key,
        )
        process.send(message, self._sends)

    def _close(self, step: Step, how: str) -> None:
        ref = self._world.place(step.place or "")
        room = self._world.room(ref)
        self._world.platforms[ref.platform].close_room(room, how, self._fired(how, ref.tail))

    def _crash(self, crash: Crash) -> None:
        if crash.when is None:
            self._process.kill("crash", self._fired("crash"), crash.restart_after)
            return

        def fire(event: Event) -> None:
            self._process.kill_soon(f"crash at {event.kind}", event.seq, crash.restart_after)

        waiting = self._triggers.setdefault(crash.when.event, [])
        waiting.append(_Trigger(crash.when, crash.when.nth, fire))

    def _see(self, event: Event) -> None:
        """Fire what waits for this event."""
        waiting = self._triggers.get(event.body.kind)
        for trigger in tuple(waiting or ()):
            if self._fits(trigger.when, event):
                trigger.left -= 1
                if trigger.left == 0 and waiting is not None:
                    waiting.remove(trigger)
                    trigger.fire(event)

    def _fits(self, when: When, event: Event) -> bool:
        if not self._world.matches(event, place=when.place):
            return False
        text = getattr(event.body, "text", None)
        return when.text is None or (isinstance(text, str) and text_matches(when.text, text))
