"""Fake calls: people call by phone number, speak and listen; both take time.

The platform is an exchange with speech recognition, such as telephone systems and call services offer: it answers a
call as soon as the gateway is connected, keeps it while the gateway restarts, and pushes what a person said as one
message per utterance. The gateway's texts arrive as speech; each carries the gateway's own id, so one that is sent
again is not said again. There are no rooms and no files.
"""

import asyncio
from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import partial
from typing import Any

import msgspec

from trunkline.core.channels import Ready
from trunkline.core.channels.voice import Speech
from trunkline.core.errors import CallEnded, PlatformError, Refused, UnknownName
from trunkline.core.events import Recorder
from trunkline.core.values import Address, Capabilities, Capability, ChatKind, Idempotency, Markup, Peer, SendRequest
from trunkline.sim.events.script import ScriptSkipped
from trunkline.sim.events.world import CallChanged, CallStarted, SpeechHeard
from trunkline.sim.platforms.actions.server import ActionRules
from trunkline.sim.platforms.api.request_checks import check_request
from trunkline.sim.platforms.api.wire import Wire
from trunkline.sim.platforms.api.wire_faults import raise_refusal
from trunkline.sim.platforms.base import FakePlatform
from trunkline.sim.platforms.people import People
from trunkline.sim.platforms.rooms import Room, WorldPort, digits, letters
from trunkline.sim.scenario.model.world import AccountSpec, PlatformSpec

#: characters per second, of people and of the gateway
PACE = 15.0
_SHORTEST = 0.5


def seconds_of(text: str) -> float:
    return max(_SHORTEST, round(len(text) / PACE, 3))


class FakeEngine:
    """A `trunkline.core.channels.voice.SpeechEngine` without sound, which takes the same time in every run."""

    async def speech(self, text: str) -> Speech:
        return Speech(text=text, seconds=seconds_of(text))


#: chooses the call for the sound of a text at a place out of those that are going on; None: the one that it names
ChooseCall = Callable[[Address, Sequence["VoiceCall"]], "VoiceCall | None"]


class CallState(StrEnum):
    RINGING = "ringing"
    ON = "on"
    HELD = "held"
    ENDED = "ended"


class Utterance(msgspec.Struct, kw_only=True):
    """An utterance of the gateway. A request that is made again under the same key is answered with the first one."""

    request: SendRequest
    speech: Speech
    token: int
    #: the requests that are answered at its end, each with the fault that strikes its answer, and how long that lasts
    asked: list[tuple[SendRequest, asyncio.Future[Any], str, float]]
    #: seconds of it that were heard before the call was held
    heard: float = 0.0
    #: when it went on; None: it waits
    since: float | None = None


class VoiceCall(msgspec.Struct, kw_only=True):
    """A call. Its room is the thread of the caller's conversation."""

    room: Room
    peer: Peer
    began: float
    state: CallState = CallState.RINGING
    #: until when the caller speaks
    talks_until: float = 0.0
    #: what the caller says once it is answered: name, seconds, what posts it
    unsaid: list[tuple[str, float, Callable[[], None]]] = msgspec.field(
        default_factory=list[tuple[str, float, Callable[[], None]]]
    )
    #: the caller wants to end it, and finishes a sentence first
    leaving: bool = False
    #: what the gateway says; the first is being said
    queue: list[Utterance] = []

    @property
    def account(self) -> str:
        return self.room.accounts[0]

    @property
    def open(self) -> bool:
        """Whether something can be said in it now or later."""
        return self.state in (CallState.ON, CallState.HELD)


#: seconds until a connected gateway answers, and until a caller gives up
_RINGS = 1.0
_PATIENCE = 30.0
_HUNG_UP, _BUSY, _NO_ANSWER = "hung-up", "busy", "no-answer"


class Exchange:
    """The exchange of the platform: it rings, connects, holds and ends calls. It outlives the gateway's processes."""

    def __init__(self, platform: "FakeVoice", world: WorldPort) -> None:
        self._platform = platform
        self._world = world
        #: (account, id of the call) -> the call
        self._calls: dict[tuple[str, str], VoiceCall] = {}
        #: what people are about to say or do
        self._pending = 0

    @property
    def busy(self) -> bool:
        """Whether something is going to happen by itself: it rings, or a person speaks."""
        return self._pending > 0

    def calls_of(self, line: Room) -> list[VoiceCall]:
        """The calls of a person with an account that have not ended, in order of their beginning."""
        mine = (call for call in self._calls.values() if call.room.conversation == line.conversation)
        return [call for call in mine if call.account == line.owner and call.state is not CallState.ENDED]

    def open_calls(self, account: str) -> list[VoiceCall]:
        """All calls of an account in which something can be said now or later, in order of their beginning."""
        return [call for call in self._calls.values() if call.account == account and call.open]

    def own(self, room: Room) -> VoiceCall:
        """The call that a person means by a place of theirs. Raises `UnknownName` unless it is exactly one."""
        if room.thread is not None:
            return self._calls[room.owner, room.thread]
        there = self.calls_of(room)
        if len(there) != 1:
            names = ", ".join(call.room.name for call in there) or "none"
            raise UnknownName(f"{room.name} has no single call that is going on, but {names}")
        return there[0]

    def meant(self, place: Address) -> VoiceCall:
        """The call in which the gateway can say something at a place. Raises `CallEnded`."""
        if place.thread is not None:
            call = self._calls.get((place.account, place.thread))
            if call is None or call.room.conversation != place.conversation or not call.open:
                raise CallEnded(f"the call {place.thread} with {place.conversation} is over")
            return call
        line = self._platform.room_at(place)
        there = [] if line is None else [call for call in self.calls_of(line) if call.open]
        if len(there) != 1:
            count = f"{len(there)} calls are" if there else "no call is"
            raise CallEnded(f"{count} going on with {place.conversation}: name the call as the thread")
        return there[0]

    def is_held(self, place: Address) -> bool:
        """Whether nothing can be said at a place for the time being."""
        try:
            return self.meant(place).state is CallState.HELD
        except CallEnded:
            return False

    def call(self, line: Room, peer: Peer, name: str) -> VoiceCall:
        """A person calls. It rings until the account is connected, unless all of its lines are taken."""
        platform, world = self._platform, self._world
        id = platform.new_id("call", line.owner, line.conversation, name)  # noqa: A001 -- the word
        room = Room(
            channel=platform.channel,
            name=f"{line.name}/{name}",
            kind=ChatKind.DIRECT,
            conversation=line.conversation,
            thread=id,
            accounts=line.accounts,
        )
        taken = sum(call.account == line.owner and call.state is not CallState.ENDED for call in self._calls.values())
        call = self._calls[line.owner, id] = VoiceCall(room=room, peer=peer, began=world.now())
        platform.add_room(room, under=line.name)
        platform.events.record(CallStarted(address=room.address(line.owner), peer=peer, name=name))
        if platform.spec.lines is not None and taken >= platform.spec.lines:
            self._end(call, _BUSY)
        else:
            self._call_later(_RINGS, self._ring, call)
        return call

    def _ring(self, call: VoiceCall) -> None:
        if call.state is not CallState.RINGING:
            return
        if self._platform.pushes.is_connected(call.account):
            self.answer_call(call)
        elif self._world.now() - call.began >= _PATIENCE:
            self._end(call, _NO_ANSWER)
        else:
            self._call_later(_RINGS, self._ring, call)

    def answer_call(self, call: VoiceCall) -> None:
        """Connect a call; the caller begins to speak."""
        self._change(call, CallState.ON, "answered")
        for name, seconds, post in call.unsaid:
            self._speak(call, name, seconds, post)
        call.unsaid.clear()

    def talk(self, room: Room, name: str, text: str, post: Callable[[Room], None]) -> None:
        """A person says something in a call: it is posted when they have finished. Raises `UnknownName`."""
        call = self.own(room)
        if call.state in (CallState.HELD, CallState.ENDED) or call.leaving:
            raise UnknownName(f"nobody hears what is said in {call.room.name}: it is {call.state.value}")
        say = partial(post, call.room)
        if call.state is CallState.RINGING:
            call.unsaid.append((name, seconds_of(text), say))
        else:
            self._speak(call, name, seconds_of(text), say)

    def _speak(self, call: VoiceCall, name: str, seconds: float, post: Callable[[], None]) -> None:
        call.talks_until = max(call.talks_until, self._world.now()) + seconds
        self._call_later(call.talks_until - self._world.now(), self._finish_saying, call, name, post)

    def _finish_saying(self, call: VoiceCall, name: str, post: Callable[[], None]) -> None:
        """Post what has been said, unless the call has ended in the middle of it."""
        if call.state is CallState.ENDED:
            self._platform.events.record(ScriptSkipped(step=name, why=f"{call.room.name} ended before it was said"))
        else:
            post()

    def hang_up(self, room: Room) -> None:
        """A person ends a call, after having finished their sentence. Raises `UnknownName`."""
        call = self.own(room)
        if call.state is CallState.ENDED:
            raise UnknownName(f"{call.room.name} has ended already")
        call.leaving = True
        self._call_later(max(0.0, call.talks_until - self._world.now()), self._end, call, _HUNG_UP)

    def hold(self, room: Room, *, on: bool) -> None:
        """A person puts a call on hold, or takes it off hold. Raises `UnknownName`."""
        call = self.own(room)
        if call.state is not (CallState.ON if on else CallState.HELD):
            raise UnknownName(f"{call.room.name} is {call.state.value}")
        if on:
            self._platform.speaking.pause(call)
        self._change(call, CallState.HELD if on else CallState.ON, "held" if on else "resumed")
        if not on:
            self._platform.speaking.go_on(call)

    def end_held(self) -> None:
        for call in self._calls.values():
            if call.state is CallState.HELD:
                self._end(call, _HUNG_UP)

    def _end(self, call: VoiceCall, why: str) -> None:
        if call.state is CallState.ENDED:
            return
        call.room.closed = "ended"
        self._change(call, CallState.ENDED, "ended", why)
        for name, _, _ in call.unsaid:
            self._platform.events.record(ScriptSkipped(step=name, why=f"{call.room.name} ended as {why}"))
        self._platform.speaking.cut_off(call)

    def _change(self, call: VoiceCall, state: CallState, word: str, why: str = "") -> None:
        call.state = state
        self._platform.events.record(CallChanged(address=call.room.address(call.account), state=word, why=why))

    def _call_later(self, seconds: float, do: Callable[..., None], *args: object) -> None:
        self._pending += 1
        self._world.call_at(self._world.now() + seconds, self._now, do, args)

    def _now(self, do: Callable[..., None], args: tuple[object, ...]) -> None:
        self._pending -= 1
        do(*args)
        self._world.poke()


class Speaking(Wire):
    """The speech of the gateway in calls: one utterance after another, each accepted when it was heard to its end.

    A response means that the person has heard everything. So an utterance that a hang-up cuts off is refused: the
    person has heard a part of it, which `speech.heard` records, and the gateway may send them the whole at another
    place. One that was not heard to its end for another reason is in doubt, and asking again under its key waits for
    the same utterance.
    """

    def __init__(self, platform: "FakeVoice", world: WorldPort) -> None:
        super().__init__(platform, world)
        self._voice = platform
        #: (account, key) -> the sound of the request, and what chooses its call
        self._speeches: dict[tuple[str, str], tuple[Speech, ChooseCall | None]] = {}

    def receive_speech(
        self, request: SendRequest, speech: Speech, answer: asyncio.Future[Any], token: int, choose: ChooseCall | None
    ) -> None:
        """Receive a send with its sound, which goes into the call that `choose` says, else into the one it names."""
        self._speeches[request.address.account, request.key] = (speech, choose)
        self.receive(request, answer, token)

    def _arrive(self, request: SendRequest, answer: asyncio.Future[Any], kind: str, extra: float, token: int) -> None:
        account = request.address.account
        try:
            raise_refusal(kind, extra)
            self._platform.tokens.check(account, token)
            known = self._known(account, request.key, self._can(request))
            if known is not None:
                self._respond(request, answer, self._record_repeat(request, known), kind, extra)
                return
            if len(self._platform.visible(request)) > self._platform.text_limit:
                raise Refused(f"longer than {self._platform.text_limit}")
            check_request(request, self._can(request))
            speech, choose = self._speeches.get((account, request.key), (None, None))
            if speech is None:
                raise Refused("there is no sound in it")
            exchange = self._voice.exchange
            call = None if choose is None else choose(request.address, exchange.open_calls(account))
            call = call or exchange.meant(request.address)
        except PlatformError as error:
            self.record_refusal(request, token, error)
            self._answer(answer, error, request)
            return
        asked = (request, answer, kind, extra)
        keyed = self._can(request).idempotency is Idempotency.KEY
        same = (queued for queued in call.queue if keyed and queued.request.key == request.key)
        if (utterance := next(same, None)) is not None:
            utterance.asked.append(asked)
            return
        call.queue.append(Utterance(request=request, speech=speech, token=token, asked=[asked]))
        self.go_on(call)

    def go_on(self, call: VoiceCall) -> None:
        """Say the first utterance, or what is left of it, unless the call is on hold."""
        if call.state is not CallState.ON or not call.queue or call.queue[0].since is not None:
            return
        first, now = call.queue[0], self._world.now()
        first.since = now
        self._world.call_at(now + first.speech.seconds - first.heard, self._finish, call, first, now)

    def pause(self, call: VoiceCall) -> None:
        """Stop in the middle of an utterance."""
        first = call.queue[0] if call.queue else None
        if first is not None and first.since is not None:
            first.heard += self._world.now() - first.since
            first.since = None

    def _finish(self, call: VoiceCall, utterance: Utterance, since: float) -> None:
        """An utterance was heard to its end, if nothing has interrupted it."""
        if utterance.since != since or call.state is not CallState.ON:
            return
        call.queue.remove(utterance)
        request = utterance.request
        self._record_heard(call, utterance, utterance.speech.text, utterance.speech.seconds, whole=True)
        room = self._platform.room_at(request.address)
        assert room is not None
        receipt = self._post(request, room, utterance.token)
        for number, (asked, answer, kind, extra) in enumerate(utterance.asked):
            given = receipt if number == 0 else self._record_repeat(asked, receipt)
            self._respond(asked, answer, given, kind, extra)
        self.go_on(call)

    def cut_off(self, call: VoiceCall) -> None:
        """The call has ended: what was not said to its end never will be."""
        self.pause(call)
        unheard, call.queue = call.queue, []
        for utterance in unheard:
            heard = ""
            if utterance.heard > 0:
                heard = utterance.speech.text[: int(utterance.heard * PACE)]
                self._record_heard(call, utterance, heard, utterance.heard, whole=False)
            part = f"cut off after {utterance.heard:.1f} of {utterance.speech.seconds:.1f} s" if heard else "unheard"
            for request, answer, _, _ in utterance.asked:
                error = CallEnded(f"the call {call.room.thread} has ended: {part}")
                self.record_refusal(request, utterance.token, error)
                self._answer(answer, error, request)

    def _record_heard(self, call: VoiceCall, utterance: Utterance, text: str, seconds: float, *, whole: bool) -> None:
        request = utterance.request
        body = SpeechHeard(
            address=call.room.address(call.account),
            requested=request.address,
            text=text,
            whole=whole,
            seconds=round(seconds, 3),
            chunk=request.chunk,
            attempt=request.attempt,
        )
        self._platform.events.record(body, request.cause, intent=request.intent)


class Callers(People):
    """People whose words are heard in a call, and reach the gateway when they have said them."""

    def __init__(self, platform: "FakeVoice", world: WorldPort) -> None:
        super().__init__(platform, world)
        self._voice = platform

    def say(
        self, name: str, person: Peer, roles: tuple[str, ...], room: Room, message_id: str, text: str, **more: Any
    ) -> None:
        """Say something in the call that a place means. Raises `UnknownName` if nobody hears it."""

        def post(call: Room) -> None:
            # `super()` needs the class inside a nested function.
            People.say(self, name, person, roles, call, message_id, text, **more)

        self._voice.exchange.talk(room, name, text, post)


_HEX = "0123456789abcdef"


class FakeVoice(FakePlatform):
    channel = "voice"
    rules = ActionRules()
    has_threads = False
    markup = Markup.STYLED
    text_limit = 120
    shows_names = False
    engine = FakeEngine()
    #: people on hold hear nothing
    keeps_waiting = True

    def __init__(self, world: WorldPort, spec: PlatformSpec, recorder: Recorder) -> None:
        super().__init__(world, spec, recorder)
        self.exchange = Exchange(self, world)
        self.people = Callers(self, world)
        self.wire = self.speaking = Speaking(self, world)

    def new_id(self, *what: str) -> str:
        """A phone number for a person, ``CA`` and hexadecimal digits for a call, ``SP...`` for an utterance."""
        if what[0] in ("person", "bot"):
            return f"+1555{digits(self.channel, *what, length=7)}"
        prefix = "CA" if what[0] == "call" else "SP"
        return f"{prefix}{letters(self.channel, *what, length=16, alphabet=_HEX)}"

    def _can(self, account: AccountSpec) -> Capabilities:
        found = super()._can(account)
        return msgspec.structs.replace(found, can=found.can - {Capability.MEDIA})

    def open_room(self, address: Address) -> Room:
        """The place, if something can be said there. Raises `Refused` and subclasses."""
        room = self.room_at(address)
        if room is not None and room.closed is not None:
            raise CallEnded(f"the call {address.thread} is over")
        return super().open_room(address)

    def is_within(self, room: Room, address: Address) -> bool:
        """A person's place holds all their calls."""
        if super().is_within(room, address):
            return True
        mine = room.thread is None and (room.owner, room.conversation) == (address.account, address.conversation)
        return mine and self.room_at(address) is not None

    def ready_at(self, place: Address) -> Ready:
        held = self.exchange.is_held(place)
        return Ready(ok=not held, reason="call-on-hold" if held else "")

    def heal(self) -> None:
        """End the calls on hold: nobody holds for ever."""
        self.exchange.end_held()

    @property
    def busy(self) -> bool:
        return super().busy or self.exchange.busy
