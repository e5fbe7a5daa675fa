"""Plays the script: each step runs at its time; crashes and freezes may wait for an event instead."""

from collections.abc import Callable
from functools import partial
from typing import Any

from trunkline.core.declared import filled
from trunkline.core.events import Event, delivery
from trunkline.core.message_parts import Button, MessageParts
from trunkline.core.sends.api import SendMessage, Target
from trunkline.core.values import Poll
from trunkline.sim.cast.clients import operate_outside
from trunkline.sim.cast.names import ChatterMessage, chatter
from trunkline.sim.run.gateway_process import Processes
from trunkline.sim.run.script.triggers import Triggers
from trunkline.sim.run.script.world_steps import WorldSteps
from trunkline.sim.run.world import World
from trunkline.sim.scenario.model import steps
from trunkline.sim.scenario.model.steps import awaited_by
from trunkline.sim.store.outside import OutsideStore


class ScriptPlayer:
    """Plays a scenario's script in its world."""

    def __init__(self, world: World, processes: Processes, outside: OutsideStore) -> None:
        self._world = world
        self._processes = processes
        self._process = processes.process("gateway")
        self._outside = outside
        self._steps = WorldSteps(world, processes.renew)
        self._says = iter(world.file.say_ids)
        self._reloads = iter(world.file.reloads)
        self._sends = 0
        #: action -> plays it with its settings; other actions need more of the step
        self._plays: dict[str, Callable[[Any], None]] = {
            "send": self._send,
            "bind": self._process.bind,
            "unbind": self._process.unbind,
            "queue": lambda step: processes.process(step.process).operate(step),
            "hands": self._operate_hands,
            "wake": lambda step: self._process.wake(step.agent, step.text),
            "wake_heartbeat": self._process.wake_heartbeat,
            "system_event": self._process.system_event,
            "crash": self._crash,
            "restart": self._restart,
            "second": lambda _: processes.process("second").boot(),
            "freeze": self._freeze,
            "clock": self._set_clock,
            "reload": lambda _: processes.reload(next(self._reloads)),
        }
        for step, at in zip(world.scenario.script, world.file.times, strict=True):
            if step.fault is not None and step.fault.on == "boot" and at == 0.0:
                world.arm(step.fault)
        self._chatter = chatter(world.scenario.world, world.seed)
        #: steps and messages of the crowd that have not been played yet
        self.left = len(world.scenario.script) + len(self._chatter)
        #: when the last of them is due
        self.end = max((*world.file.times, *(said.at for said in self._chatter)), default=0.0)
        self.triggers = Triggers(world, awaited_by(world.scenario.script))

    def start(self) -> None:
        for step, at in zip(self._world.scenario.script, self._world.file.times, strict=True):
            name = next(self._says) if step.say is not None else ""
            self._world.call_at(at, self._play, step, name)
        for said in self._chatter:
            self._world.call_at(said.at, self._chat, said)

    def _play(self, step: steps.ScriptStep, name: str) -> None:
        self.left -= 1
        self._world.note_change()
        if step.when is None:
            self._play_now(step, name)
        else:
            self.triggers.add(step.when, lambda _: self._world.after_step(partial(self._play_now, step, name)))

    def _play_now(self, step: steps.ScriptStep, name: str) -> None:
        what = name or ", ".join(sorted(step.model_fields_set - {"at", "after", "place", "when"}))
        self._steps.if_possible(what, partial(self._act, step, name))
        self._world.poke()

    def _chat(self, said: ChatterMessage) -> None:
        """Say a message of the crowd."""
        self.left -= 1
        self._world.note_change()
        self._steps.if_possible(said.name, partial(self._steps.chat, said))
        self._world.poke()

    def _act(self, step: steps.ScriptStep, name: str) -> None:
        if self._steps.play(step, name):
            return
        if step.reset is not None:
            agent = step.reset.agent or self._process.config.default_agent
            self._process.reset(agent, self._world.address(step.place or ""))
        for action, play in self._plays.items():
            settings = getattr(step, action)
            if settings is not None:
                play(settings)

    def _operate_hands(self, step: steps.HandsStep) -> None:
        if step.outside:
            operate_outside(self._outside, step, self._world.wall_clock())
        else:
            self._processes.process(step.process).operate_hands(step)

    def _set_clock(self, step: steps.ClockStep) -> None:
        self._world.clock_set_by += step.forward - step.back
        self._steps.record_fault("clock", f"{step.forward - step.back:+g} s")

    def _restart(self, step: steps.RestartStep) -> None:
        process = self._processes.process(step.process)

        def stop(why: str, cause: int) -> None:
            process.stop(why, cause, step.down)

        self._now_or_at("restart", step.when, stop)

    def _send(self, send: steps.SendStep) -> None:
        self._sends += 1
        process = self._processes.process(send.process)
        agent = send.agent or process.config.default_agent
        places = [self._world.address(place) for place in send.to]
        to = places[0] if places else send.target or ""
        message = filled(
            SendMessage,
            send,
            to=to,
            poll=None if send.poll is None else Poll(**send.poll.model_dump()),
            parts=_parts(send),
            session_key=None if send.session is None else process.session_key(agent, send.session),
            key=f"send{self._sends}" if send.key is None else send.key,
        )
        process.send(message, [Target(to=place) for place in places] if len(places) > 1 else (), self._sends)

    def _crash(self, crash: steps.CrashStep) -> None:
        process = self._processes.process(crash.process)

        def kill(why: str, cause: int) -> None:
            process.kill(why, cause, crash.restart_after)

        self._now_or_at("crash", crash.when, kill)

    def _freeze(self, freeze: steps.FreezeStep) -> None:
        process = self._processes.process(freeze.process)

        def stop(why: str, cause: int) -> None:
            process.freeze(why, cause, freeze.for_)

        self._now_or_at("freeze", freeze.when, stop)

    def _now_or_at(self, fault: str, when: steps.When | None, do: Callable[[str, int], None]) -> None:
        """Do something now, or at the end of the callback that records an event."""
        if when is None:
            do(fault, self._steps.record_fault(fault))
            return

        def fire(event: Event) -> None:
            end = partial(do, f"{fault} at {event.kind}", event.seq)
            if self._world.departure and isinstance(event.body, delivery.AttemptStarted):
                self._world.call_at(self._world.now() + self._world.departure, end)
            else:
                self._world.after_step(end)

        self.triggers.add(when, fire)


def _parts(send: steps.SendStep) -> MessageParts | None:
    """The parts of a client's message beside its text; None without any."""
    buttons = (tuple(Button(text=text, value=text) for text in send.buttons),) if send.buttons else ()
    return MessageParts(silent=send.silent, buttons=buttons) if buttons or send.silent else None
