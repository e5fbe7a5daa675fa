"""The fakes: servers and a model on loopback, the people of their world, and its faults; it can begin again."""

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

import anyio

from trunkline.core.config.files.problems import Path, advice
from trunkline.core.config.files.yaml_reader import parse, read_text
from trunkline.core.errors import UnknownName, UsageError
from trunkline.core.events import Event, gateway
from trunkline.sim.events.model import ModelAnswered, ModelAsked
from trunkline.sim.events.world import ThreadOpened
from trunkline.sim.loop import RealTimeLoop
from trunkline.sim.run.script.world_steps import WORLD_STEPS, WorldSteps
from trunkline.sim.run.world import World
from trunkline.sim.scenario import ScenarioFile, load_text
from trunkline.sim.scenario.edit import text_of, tree_of
from trunkline.sim.scenario.load import ScenarioReport
from trunkline.sim.scenario.model.steps import ScriptStep
from trunkline.sim.scenario.model.world import THREADLESS
from trunkline.sim.scenario.place_refs import PlaceRef, with_threads
from trunkline.sim.scenario.step_rules import STEP_ACTIONS
from trunkline.sim.wire.attribution import Attribution
from trunkline.sim.wire.fakes.messages import WorldMessages
from trunkline.sim.wire.model.answers import Echo, said_since_the_last_answer
from trunkline.sim.wire.model.replies import ModelReply, text_said
from trunkline.sim.wire.model.server import Asked, ModelServer
from trunkline.sim.wire.server import WireListener
from trunkline.sim.wire.servers import ON_THE_WIRE, make_server

# The world of the fakes: a file with `world` and, if somebody acts by themselves, `script`; or a small one of ours.

#: what a file without these is given: it stays a scenario for those who read it
_LACKING = {
    "scenario": "scenario: 1",
    "title": "title: fakes",
    "cast": "cast: {agents: {main: [{do: [{silent: true}]}]}}",
    "script": "script: [{at: 0s, note: nobody acts by themselves}]",
}
_PEOPLE = "ana, ben, cem"
#: what a step may do where no gateway of ours runs
STEPS_HERE = (*WORLD_STEPS, "note")
#: what a fault may strike there
FAULTS_HERE = ("send", "act", "lookup", "thread", "push", "connect")


def world_of_ours(platforms: Sequence[str]) -> ScenarioFile:
    """Three people, and on each platform a room `ops` with a thread `deploy` where it has threads, and a room `lobby`.

    Raises `UsageError` for a platform that cannot be on the wire.
    """
    check_platforms(platforms)
    lines = [f"world:\n  people: [{_PEOPLE}]"]
    for name in dict.fromkeys(platforms):
        rooms = "[ops, lobby]" if name in THREADLESS else "{ops: {threads: [deploy]}, lobby: {}}"
        lines.append(f"  {name}: {{rooms: {rooms}}}")
    return load_text("\n".join([*lines, *_LACKING.values()]), "fakes.yaml")


def read_world(path: str | os.PathLike[str], platforms: Sequence[str] = ()) -> tuple[ScenarioFile, tuple[str, ...]]:
    """The world of a file, and those of its platforms that go on the wire: the named ones, by default all that can.

    A scenario file is such a file too, if no step of its script needs a gateway of ours. Raises `UsageError`.
    """
    check_platforms(platforms)
    name = os.fspath(path)
    text = read_text(ScenarioReport(name), "a file with a world")
    report = ScenarioReport(name)
    tree = parse(text, report, begin="such a file begins with `world:`")
    given = cast("dict[str, object]", tree) if isinstance(tree, dict) else {}
    lacking = [line for key, line in _LACKING.items() if key not in given]
    file = load_text("\n".join([text, *lacking, ""]) if lacking else text, name)
    _check_script(file)
    there = tuple(platform for platform in file.scenario.world.platforms if platform in ON_THE_WIRE)
    missing = [platform for platform in platforms if platform not in there]
    if missing:
        raise UsageError(f"{name}: its world has no {missing[0]}; it has: {', '.join(there) or 'no such platform'}")
    if not there:
        raise UsageError(f"{name}: its world has no platform that can be on the wire: {', '.join(ON_THE_WIRE)}")
    return file, tuple(platforms) or there


def check_platforms(platforms: Sequence[str]) -> None:
    """Raise `UsageError` for a platform without a server for the wire."""
    for name in platforms:
        if name not in ON_THE_WIRE:
            raise UsageError(f"there is no fake {name!r} on the wire ({advice(name, ON_THE_WIRE)})")


def _check_script(file: ScenarioFile) -> None:
    """Raise `ScenarioError` for steps with need of a gateway of ours."""
    report = ScenarioReport(os.fspath(file.path))
    report.positions = file.positions
    for index, step in enumerate(file.scenario.script):
        for field, problem in needs_gateway(step):
            hint = "`trunkline run --wire` plays it with one; here it would do nothing"
            report.add(("script", index, *field), problem, hint, at_key=True)
    if report.problems:
        raise report.error()


def needs_gateway(step: ScriptStep) -> Iterator[tuple[Path, str]]:
    """The field of a step that has no meaning without a gateway of ours, and why."""
    for field in STEP_ACTIONS:
        if field not in STEPS_HERE and getattr(step, field) is not None:
            yield (field,), f"`{field}` needs a gateway of Trunkline"
    if step.fault is not None and step.fault.on not in FAULTS_HERE:
        yield ("fault", "on"), f"a fault on `{step.fault.on}` needs a gateway of Trunkline"


# Steps that somebody sends: the same words as in a scenario file, checked in the same way.

#: what errors call the step
STEP = "step"
#: parts of a scenario that a step does not refer to
_ASIDE = ("expect", "bugs", "breaks", "with_bugs", "stored", "story", "source", "tags")


def read_step(given: object, file: ScenarioFile) -> ScriptStep:
    """A step for the world of a file, whose places are those of now. Raises `ScenarioError` with every problem.

    The fields of problems begin with ``script[0].``; `plain_field` takes that away.
    """
    report = ScenarioReport(STEP)
    if not isinstance(given, dict):
        report.add((), 'a step is an object such as {"as": "ana", "in": "ops", "say": "hi"}')
        raise report.error()
    step = {key: value for key, value in cast("dict[str, Any]", given).items() if key not in ("at", "after")}
    if len(step) != len(cast("dict[str, Any]", given)):
        report.add((), "a step that is sent is played at once", "leave `at` and `after` out")
        raise report.error()
    if not _is_plain(step):
        report.add((), "a text has half a character, or a number is not finite", "write whole characters")
        raise report.error()
    tree = tree_of(file.scenario.model_copy(update={"world": file.world}))
    for name in _ASIDE:
        tree.pop(name, None)
    tree["script"] = [step]
    read = load_text(text_of(tree), STEP).scenario.script[0]
    for field, problem in needs_gateway(read):
        report.add(("script", 0, *field), problem, "control your own gateway instead")
    if report.problems:
        raise report.error()
    return read


def plain_field(field: str) -> str:
    """The field of a problem, as somebody who has sent one step knows it."""
    return field.removeprefix("script[0]").removeprefix(".")


def _is_plain(value: object) -> bool:
    match value:
        case str():
            return not any("\ud800" <= char <= "\udfff" for char in value)
        case float():
            return math.isfinite(value)
        case list():
            return all(map(_is_plain, cast("list[object]", value)))
        case dict():
            pairs = cast("dict[str, object]", value).items()
            return all(_is_plain(key) and _is_plain(item) for key, item in pairs)
        case _:
            return True


#: the model, among the names of platforms
MODEL = "model"
#: characters of what a model was asked that are recorded
_RECORDED = 500


class Fakes:
    """A world on the wire. `ports`: by platform, or `model`; others take a free one, and keep it.

    `epoch`: the start of the loop, in seconds since 1970. `watch` gets each event; `renewed` is called before the first
    one of a further world.
    """

    def __init__(
        self,
        file: ScenarioFile,
        platforms: Sequence[str],
        loop: RealTimeLoop,
        *,
        ports: Mapping[str, int] | None = None,
        model: bool = False,
        seed: int = 1,
        epoch: float = 0.0,
        watch: Callable[[Event], None] | None = None,
        renewed: Callable[[], None] | None = None,
    ) -> None:
        self._file = file
        self._platforms = tuple(platforms)
        self._loop = loop
        self._ports = dict(ports or {})
        self._seed = seed
        self._epoch = epoch
        self._watch = watch
        self._renewed = renewed
        self._has_model = model
        self._said = 0
        self._opened: list[tuple[PlaceRef, str]] = []
        self._changed = anyio.Event()
        self.listeners: dict[str, WireListener] = {}
        self.model: ModelServer | None = None
        #: what the model answers
        self.echo = Echo()
        self._make_world()

    def _make_world(self) -> None:
        self.world = world = World(self._file, self._loop, seed=self._seed, bugs=())
        world.log.subscribe(self._see)
        if self._watch is not None:
            world.log.subscribe(self._watch)
        # Invariants that need the story of a gateway are not judged.
        world.events.record(gateway.RunJoined(after=0, joined_at=world.now()))
        world.build()
        world.log.subscribe(self._thread_opened, ThreadOpened)
        self.steps = WorldSteps(world, _nobody)
        self.messages = WorldMessages(world)
        self._opened.clear()

    def _see(self, event: Event) -> None:
        self._changed.set()

    async def change(self) -> None:
        self._changed = anyio.Event()
        await self._changed.wait()

    async def open(self) -> None:
        """Listen, and begin the script. Raises `OSError` for a taken port."""
        try:
            for name in self._platforms:
                server = make_server(self.world.platforms[name], self.world, Attribution(), epoch=self._epoch)
                listener = self.listeners[name] = WireListener(server)
                await listener.open(self._ports.get(name, 0))
                self._ports[name] = listener.port
            if self._has_model and self.model is None:
                self.echo = Echo()
                model = ModelServer(self.echo, seen=self._model_asked, note_answer=self._model_answered)
                await model.open(self._ports.get(MODEL, 0))
                self.model, self._ports[MODEL] = model, model.port
        except OSError:
            await self.close()
            raise
        self._begin_script()

    async def close(self) -> None:
        for listener in self.listeners.values():
            await listener.close()
        self.listeners.clear()
        model, self.model = self.model, None
        if model is not None:
            await model.close()

    async def reset(self) -> None:
        """Begin again with the world of the file: on the same ports, with the first tokens, and no written answers."""
        await self.close()
        old = self.world
        self._said = 0
        if self._renewed is not None:
            self._renewed()
        self._make_world()
        old.disk.discard()
        self._changed.set()
        await self.open()

    def _begin_script(self) -> None:
        world, names = self.world, iter(self._file.say_ids)
        for step, at in zip(self._file.scenario.script, self._file.times, strict=True):
            name = next(names) if step.say is not None else ""
            play = partial(self._play_if_current, world, partial(self.steps.play, step, name))
            world.call_at(world.now() + at, self.steps.if_possible, name or "step", play)

    def _play_if_current(self, world: World, play: Callable[[], object]) -> None:
        if world is self.world:
            play()

    def play(self, given: object) -> str:
        """Play one step of a script, written as in a scenario file, now. Returns the name of its message, if any.

        Raises `ScenarioError` for a step that is wrong, and `UnknownName` or `ConfigError` for one that the world does
        not allow now, such as an edit in a deleted thread.
        """
        step = read_step(given, self.world.file)
        name = ""
        if step.say is not None:
            name = step.id or self._new_name()
            if self.world.message_id(name) is not None:
                raise UnknownName(f"there is a message {name!r} already: leave `id` out, or choose another one")
        self.steps.play(step, name)
        return name

    def _new_name(self) -> str:
        self._said += 1
        return f"said{self._said}"

    def _thread_opened(self, event: Event) -> None:
        """Give a thread that was opened on the wire a name for steps: that in the world."""
        assert isinstance(event.body, ThreadOpened)
        place = event.body.address
        platform = self.world.platforms[place.channel]
        room = platform.room_at(place)
        if room is None or "/" not in room.name:
            return
        above, _, thread = room.name.partition("/")
        if above in platform.spec.rooms:
            ref = PlaceRef(platform=place.channel, account=place.account, room=above)
            self._opened.append((ref, thread))
            self.world.file = replace(self._file, world=with_threads(self._file.world, self._opened))

    def _model_asked(self, asked: Asked) -> None:
        said = said_since_the_last_answer(asked.body.get("messages") or ())
        body = ModelAsked(model=_clean(str(asked.body.get("model", ""))), said=tuple(map(_clean, said)))
        self.world.log.recorder(MODEL).record(body)

    def _model_answered(self, asked: Asked, reply: ModelReply) -> None:
        body = ModelAnswered(status=reply.status, text=_clean(text_said(reply)))
        self.world.log.recorder(MODEL).record(body)


def _nobody(_channel: str, _account: str) -> None:
    """No process of ours gets a new token."""


def _clean(text: str) -> str:
    """A text of a stranger as it can be stored, and not longer than needed."""
    return text[-_RECORDED:].encode("utf-8", "replace").decode()
