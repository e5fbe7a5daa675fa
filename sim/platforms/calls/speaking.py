"""The speech of the gateway in calls: one utterance after another, each accepted when it was heard to its end.

A response means that the person has heard everything. So an utterance that a hang-up cuts off is refused: the person
has heard a part of it, which `speech.heard` records, and the gateway may send them the whole at another place. One that
was not heard to its end for another reason is in doubt, and asking again under its key waits for the same utterance.
"""

from __future__ import annotations

import asyncio
from typing import Any

from trunkline.core.channels.voice import Speech
from trunkline.core.errors import CallEnded, PlatformError, Refused
from trunkline.core.values import Idempotency, SendRequest
from trunkline.sim.events.calls import SpeechHeard
from trunkline.sim.platforms.api.request_checks import check_request
from trunkline.sim.platforms.api.wire import Wire
from trunkline.sim.platforms.api.wire_faults import raise_refusal
from trunkline.sim.platforms.calls.call import CallState, ChooseCall, Utterance, VoiceCall
from trunkline.sim.platforms.calls.engine import PACE
from trunkline.sim.platforms.calls.hosts import CallsHost
from trunkline.sim.platforms.rooms import WorldPort


class Speaking(Wire):
    """The wire of a platform with calls."""

    def __init__(self, platform: CallsHost, world: WorldPort) -> None:
        super().__init__(platform, world)
        self._voice = platform
        #: (account, key) -> the sound of the request, and what chooses its call
        self._speeches: dict[tuple[str, str], tuple[Speech, ChooseCall | None]] = {}

    def receive_speech(
        self,
        request: SendRequest,
        speech: Speech,
        answer: asyncio.Future[Any],
        token: int,
        choose: ChooseCall | None = None,
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

    # ------------------------------------------------------------ time

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
