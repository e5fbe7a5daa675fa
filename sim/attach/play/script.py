"""The script of a scenario, played around a gateway that is not ours."""

from collections.abc import Callable, Collection
from functools import partial

from trunkline.core.errors import UnknownName
from trunkline.core.events import Event
from trunkline.sim.attach.kill_points import KillPoint, finds
from trunkline.sim.attach.play.gateway import GatewayControl
from trunkline.sim.attach.play.rest import QuietWire
from trunkline.sim.attach.play.servers import TryServers
from trunkline.sim.events.script import FaultFired, ScriptSkipped
from trunkline.sim.index.marks import nudge_mark, question_text, unique_marks
from trunkline.sim.run.script.triggers import Triggers
from trunkline.sim.run.script.world_steps import WorldSteps
from trunkline.sim.run.world import World
from trunkline.sim.scenario.model.faults import Fault
from trunkline.sim.scenario.model.steps import CrashStep, ScriptStep, When, awaited_by


class AttachedScript:
    """Plays the steps: at their times, which count from when the gateway is connected, or at events of the wire."""

    def __init__(self, world: World, gateway: GatewayControl, servers: TryServers, rest: QuietWire) -> None:
        self._world, self._gateway, self._servers, self._rest = world, gateway, servers, rest
        self._steps = WorldSteps(world, lambda _channel, _account: None)
        self._triggers = Triggers(world, awaited_by(world.scenario.script), delayed=(rest.owe, rest.end_wait))
        #: steps that wait for an event, and what they would do
        self._waiting: dict[int, str] = {}

    def begin(self) -> None:
        file, began = self._world.file, self._world.now()
        names = iter(file.say_ids)
        for number, (step, at) in enumerate(zip(file.scenario.script, file.times, strict=True)):
            name = next(names) if step.say is not None else ""
            self._rest.owe()
            self._world.call_at(began + at, self._play, number, step, name)

    def nudge(self, waiting: Collection[str]) -> bool:
        """Have the askers of questions write once more, in each place once; returns whether anybody does.

        Some gateways say what became of a question with the answer to the next one only. Of a thread that is closed
        the asker goes on in its room.
        """
        file, places = self._world.file, set[str]()
        said = (step for step in file.scenario.script if step.say is not None)
        marks = unique_marks(file.say_ids)
        for name, step in zip(file.say_ids, said, strict=True):
            if marks[name] not in waiting or step.bot or step.via is not None or not self._gateway.runs:
                continue
            ref = self._world.place(step.place or "")
            room = self._world.platforms[ref.platform].room_named(ref.account, ref.tail)
            place = step.place or ""
            if room is not None and room.closed and ref.thread is not None:
                place = place.rpartition("/")[0]
            if place in places:
                continue
            places.add(place)
            text = question_text("are you there?", nudge_mark(marks[name]))
            again = ScriptStep.model_validate({"at": "0s", "as": step.as_, "in": place, "say": text})
            self._steps.if_possible(name, partial(self._steps.play, again, f"{name} again"))
        return bool(places)

    def end(self) -> None:
        """Record what of the script has not happened: such a run does not show what the scenario intends."""
        waiting, self._waiting = self._waiting, {}
        script = self._world.scenario.script
        may_miss = {id(step.fault) for step in script if step.may_miss}
        for number, what in waiting.items():
            if not script[number].may_miss:
                self._world.events.record(ScriptSkipped(step=what, why="the event that it waits for did not happen"))
        for fault in (fault for fault in self._world.faults.unstruck if id(fault) not in may_miss):
            body = ScriptSkipped(step=f"fault {fault.on}/{fault.way}", why="nothing happened that it could strike")
            self._world.events.record(body)

    def _play(self, number: int, step: ScriptStep, name: str) -> None:
        self._rest.end_wait()
        what = name or ", ".join(sorted(step.model_fields_set - {"at", "after", "place", "when"}))
        if step.when is None:
            self._steps.if_possible(what, partial(self._act, number, step, name))
        else:
            play = partial(self._steps.if_possible, what, partial(self._act, number, step, name))
            self._wait(number, what, step.when, lambda _: self._world.after_step(play))

    def _wait(self, number: int, what: str, when: When, do: Callable[[Event], None]) -> None:
        self._waiting[number] = f"{what} at {when.event}"

        def fire(event: Event) -> None:
            # After the end of the script nothing of it happens any more: it is recorded as skipped.
            if self._waiting.pop(number, None) is not None:
                do(event)

        self._triggers.add(when, fire)

    def _act(self, number: int, step: ScriptStep, name: str) -> None:
        if step.fault is not None and step.fault.on == "connect" and step.fault.do == "refuse-connection":
            self._take_down(step.fault)
        elif self._steps.play(step, name):
            if step.rotate is not None and step.rotate.revoke:
                self._servers.revoked.add(step.rotate.platform)
        elif step.crash is not None:
            crash = step.crash
            self._now_or_at(number, "crash", crash.when, partial(self._crash, crash))
        elif step.restart is not None:
            restart = step.restart
            stop = partial(self._gateway.stop, down=restart.down)
            self._now_or_at(number, "restart", restart.when, lambda why, cause, _: stop(why, cause))
        elif step.freeze is not None:
            freeze = step.freeze
            stand_still = partial(self._gateway.freeze, seconds=freeze.for_)
            self._now_or_at(number, "freeze", freeze.when, lambda why, cause, _: stand_still(why, cause))

    def _crash(self, crash: CrashStep, why: str, cause: int, at: Event | None) -> None:
        self._gateway.kill(why, cause, crash.restart_after)
        if at is not None and crash.when is not None and not crash.when.delay:
            self._servers.leave_untaken(at)

    def _now_or_at(
        self, number: int, fault: str, when: When | None, do: Callable[[str, int, Event | None], None]
    ) -> None:
        """Do something now, or at the end of the callback that records an event: before anything else is written."""
        if when is None:
            do(fault, self._steps.record_fault(fault), None)
            return

        def strike(event: Event) -> None:
            at = f"at {event.kind}"
            do(f"{fault} {at}", self._steps.record_fault(fault, at), event)

        def fire(event: Event) -> None:
            self._world.after_step(partial(self._steps.if_possible, fault, partial(strike, event)))

        self._wait(number, fault, when, fire)

    def _take_down(self, fault: Fault) -> None:
        for channel, platform in self._world.platforms.items():
            accounts = platform.spec.accounts
            if any(self._world.faults.is_about(fault, (channel, account)) for account in accounts):
                self._steps.record_fault("connect/refuse-connection", channel)
                self._rest.owe()
                self._servers.take_down(channel, fault.for_, self._rest.end_wait)


#: seconds from a kill by `KillStroke` to the next start
_DOWN = 1.0


class KillStroke:
    """Kills the gateway at one event, in addition to the script."""

    def __init__(self, world: World, gateway: GatewayControl, servers: TryServers, point: KillPoint) -> None:
        self._world, self._gateway, self._servers, self._point = world, gateway, servers, point
        self._fits = finds(point)
        self._found = False
        world.log.subscribe(self._see)

    def _see(self, event: Event) -> None:
        if not self._fits(event) or self._found:
            return
        self._found = True
        if self._point.delay:
            self._world.call_at(self._world.now() + self._point.delay, self._strike, event)
        else:
            self._world.after_step(partial(self._strike, event))

    def _strike(self, event: Event) -> None:
        cause = self._world.events.record(FaultFired(fault="crash", detail=f"at {self._point}"), event.seq)
        try:
            self._gateway.kill(f"crash at {self._point}", cause, _DOWN)
        except UnknownName as error:
            self._world.events.record(ScriptSkipped(step="crash", why=error.facts))
            return
        if not self._point.delay:
            self._servers.leave_untaken(event)

    def end(self) -> None:
        """Record a run without the event of the kill."""
        if not self._found:
            body = ScriptSkipped(step=f"crash at {self._point}", why="the event that it waits for did not happen")
            self._world.events.record(body)
