"""The fakes: servers and a model on loopback, the people of their world, and its faults; it can begin again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import anyio

from trunkline.core.errors import UnknownName
from trunkline.core.events import Event
from trunkline.core.events.gateway import RunJoined
from trunkline.sim.events.model import ModelAnswered, ModelAsked
from trunkline.sim.events.world import ThreadOpened
from trunkline.sim.loop import RealTimeLoop
from trunkline.sim.run.script.world_steps import WorldSteps
from trunkline.sim.run.world import World
from trunkline.sim.scenario import ScenarioFile
from trunkline.sim.scenario.place_refs import PlaceRef, with_threads
from trunkline.sim.wire.attribution import NoAttribution
from trunkline.sim.wire.fakes.messages import WorldMessages
from trunkline.sim.wire.fakes.steps import read_step
from trunkline.sim.wire.listener import WireListener
from trunkline.sim.wire.model.answers import Echo, said_since_the_last_answer
from trunkline.sim.wire.model.replies import ModelReply, text_said
from trunkline.sim.wire.model.server import Asked, ModelServer
from trunkline.sim.wire.servers import make_server

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
        self._make_world()

    def _make_world(self) -> None:
        self.world = world = World(self._file, self._loop, seed=self._seed, bugs=())
        world.log.subscribe(self._see)
        if self._watch is not None:
            world.log.subscribe(self._watch)
        # Invariants that need the story of a gateway are not judged.
        world.events.record(RunJoined(after=0, joined_at=world.now()))
        world.build()
        world.log.subscribe(self._thread_opened, ThreadOpened)
        self.steps = WorldSteps(world, _nobody)
        self.messages = WorldMessages(world)
        self._opened.clear()

    def _see(self, event: Event) -> None:
        self._changed.set()

    async def change(self) -> None:
        """Wait for the next event."""
        self._changed = anyio.Event()
        await self._changed.wait()

    # ------------------------------------------------------------ life

    async def open(self) -> None:
        """Listen, and begin the script. Raises `OSError` for a port that is taken."""
        try:
            for name in self._platforms:
                server = make_server(self.world.platforms[name], self.world, NoAttribution(), epoch=self._epoch)
                listener = self.listeners[name] = WireListener(server)
                await listener.open(self._ports.get(name, 0))
                self._ports[name] = listener.port
            if self._has_model and self.model is None:
                await self._open_model()
        except OSError:
            await self.close()
            raise
        self._begin_script()

    async def _open_model(self) -> None:
        model = ModelServer(otherwise=Echo(), seen=self._model_asked, note_answer=self._model_answered)
        await model.open(self._ports.get(MODEL, 0))
        self.model, self._ports[MODEL] = model, model.port

    async def close(self) -> None:
        """Close every socket."""
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
        """Play the steps of the file, from now on."""
        world, names = self.world, iter(self._file.say_ids)
        for step, at in zip(self._file.scenario.script, self._file.times, strict=True):
            name = next(names) if step.say is not None else ""
            play = partial(self._play_if_current, world, partial(self.steps.play, step, name))
            world.call_at(world.now() + at, self.steps.if_possible, name or "step", play)

    def _play_if_current(self, world: World, play: Callable[[], object]) -> None:
        if world is self.world:
            play()

    # ------------------------------------------------------------ what somebody does

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

    # ------------------------------------------------------------ the model

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
