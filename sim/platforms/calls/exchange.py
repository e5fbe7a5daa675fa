"""The exchange of a fake platform: it rings, connects, holds and ends calls. It outlives the gateway's processes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from trunkline.core.errors import CallEnded, UnknownName
from trunkline.core.values import Address, ChatKind, Peer
from trunkline.sim.events.calls import CallChanged, CallStarted
from trunkline.sim.events.script import ScriptSkipped
from trunkline.sim.platforms.calls.call import CallState, VoiceCall
from trunkline.sim.platforms.calls.engine import seconds_of
from trunkline.sim.platforms.calls.hosts import CallsHost
from trunkline.sim.platforms.rooms import Room, WorldPort

#: seconds until a connected gateway answers, and until a caller gives up
_RINGS = 1.0
_PATIENCE = 30.0
_HUNG_UP, _BUSY, _NO_ANSWER = "hung-up", "busy", "no-answer"


class Exchange:
    """The calls of one platform."""

    def __init__(self, platform: CallsHost, world: WorldPort) -> None:
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

    # ------------------------------------------------------------ looking up

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

    # ------------------------------------------------------------ what callers do

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
        self._call_later(call.talks_until - self._world.now(), post)

    def hang_up(self, room: Room, cause: int | None = None) -> None:
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

    # ------------------------------------------------------------ ends

    def end_held(self) -> None:
        """End the calls on hold."""
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
