"""Actions on the wire: changes and questions arrive with latency, are checked by the platform, and answered.

As with sends, the events recorded here are the ground truth for invariants, and a request that left a process arrives
even if the process has died or stopped waiting. Faults on `act` strike here, faults on `send` do not: so a fault that
is meant for a message never strikes a reaction to it.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, cast

import msgspec

from trunkline.core.action_catalogue import Action, TargetMode
from trunkline.core.actions.requests import ActionQuery, ActionRequest
from trunkline.core.declared import filled
from trunkline.core.errors import Ambiguous, NotSent, PlatformError, Refused
from trunkline.core.values import Address, Receipt, Transport
from trunkline.sim.events.actions import WireActed, WireAnswered
from trunkline.sim.events.wire import WireDeleted, WireEdited, WireRefused
from trunkline.sim.platforms.actions.changes import MESSAGE_CHANGES, Done, Handler, RequestedChange
from trunkline.sim.platforms.actions.message_board import BoardMessage
from trunkline.sim.platforms.actions.questions import QUESTIONS, Question
from trunkline.sim.platforms.actions.server_changes import IN_ROOMS_LEFT, SERVER_CHANGES
from trunkline.sim.platforms.api.wire import WireRequests
from trunkline.sim.platforms.api.wire_faults import BEFORE, LOST, StruckAnswer, raise_refusal, struck
from trunkline.sim.platforms.rooms import Room, resolve

#: action -> how a platform carries it out
CHANGES: dict[Action, Handler] = {**MESSAGE_CHANGES, **SERVER_CHANGES}
#: changes of what people read, which have events of their own on the wire side
_SEEN_CHANGES = frozenset({Action.EDIT, Action.DELETE, Action.UNSEND})


class ActionWire(WireRequests):
    def act(self, request: ActionRequest, answer: asyncio.Future[Any], token: int) -> None:
        """Receive a change from a process; it arrives whatever happens to the process."""
        kind, extra = self._struck(request.address, request.action, request.text, request.attempt)
        what = ("act", request.action.value, request.key, str(request.attempt))
        arrive = partial(self._arrive, request, answer, kind, extra, token)
        self._receive(request.address, kind, extra, answer, what, arrive)

    def _receive(
        self,
        address: Address,
        kind: str,
        extra: float,
        answer: asyncio.Future[Any],
        what: tuple[str, ...],
        arrive: Callable[[], None],
    ) -> None:
        before = self._before(address, kind)
        if before is None:
            delay = self._platform.latency(*what) + (extra if kind == "slow" else 0.0)
            self._world.call_at(self._world.now() + delay, arrive)
        elif before:
            self._answer(answer, before[0], what[1:])

    def _arrive(self, request: ActionRequest, answer: asyncio.Future[Any], kind: str, extra: float, token: int) -> None:
        what = (request.action.value, request.key, str(request.attempt))
        try:
            raise_refusal(kind, extra)
            self._check(request.action, request.address, token)
            if request.identity is not None:
                self._platform.webhooks.check(request.identity, request.address)
            done = self._carry_out(request)
        except PlatformError as error:
            self.record_refusal(request, token, error)
            self._answer(answer, error, what)
            return
        self._record(request, done, token)
        receipt = Receipt(provider_id=done.provider_id, address=done.address)
        if kind in LOST:
            left = struck(kind, extra, receipt)
            self._lose_response(request, kind, left, lambda found: self._answer(answer, found, what))
            return
        self._answer(answer, struck(kind, extra, receipt), what)

    def _carry_out(self, request: ActionRequest) -> Done:
        handler = CHANGES.get(request.action)
        if handler is None:
            raise Refused(f"there is no {request.action.value} here")
        change = RequestedChange(
            platform=self._platform,
            request=request,
            fields=fields_of(request.fields),
            place=self._place(request.action, request.address),
            now=self._world.now(),
        )
        return handler(change)

    def _record(self, request: ActionRequest, done: Done, token: int) -> None:
        message = done.message
        if self._world.wire_side and request.action in _SEEN_CHANGES and message is not None:
            self._record_change(request, done, message)
            return
        body = filled(
            WireActed,
            done,
            request,
            requested=request.address,
            message_id=None if message is None else message.id,
            author="" if message is None else "bot" if message.account == request.address.account else "other",
            credential=self._platform.tokens.recorded(request.address.account, token),
        )
        self._platform.events.record(body, request.cause, intent=request.intent)

    def _record_change(self, request: ActionRequest, done: Done, message: BoardMessage) -> None:
        """An edit or a deletion, where nothing but the wire is recorded of the gateway."""
        own = message.account == request.address.account
        where, before, author = done.address, done.before, "bot" if own else "other"
        body = WireDeleted(address=where, message_id=message.id, before=before, author=author, repeated=done.repeated)
        if request.action is Action.EDIT:
            body = WireEdited(**msgspec.structs.asdict(body), text=done.text)
        self._platform.events.record(body, request.cause)

    def ask(self, query: ActionQuery, answer: asyncio.Future[Any], token: int) -> None:
        kind, extra = self._struck(query.address, query.action, "", None)
        what = ("ask", query.action.value, query.address.conversation, query.message_id or "", query.fields or "")
        arrive = partial(self._arrive_question, query, answer, kind, extra, token)
        self._receive(query.address, kind, extra, answer, what, arrive)

    def _arrive_question(
        self, query: ActionQuery, answer: asyncio.Future[Any], kind: str, extra: float, token: int
    ) -> None:
        what = (query.action.value, query.address.conversation, query.message_id or "", query.fields or "")
        found: object
        try:
            raise_refusal(kind, extra)
            self._check(query.action, query.address, token)
            found = self._look(query)
        except PlatformError as error:
            body = WireRefused(
                address=query.address, reason=error.reason, chunk=0, attempt=1, detail=error.facts, action=query.action
            )
            self._platform.events.record(body, query.cause)
            self._answer(answer, error, what)
            return
        answered = WireAnswered(
            action=query.action, address=query.address, message_id=query.message_id, found=_count(found)
        )
        self._platform.events.record(answered, query.cause)
        if kind == "lose-response":
            return
        lost = kind == "reset"
        self._answer(answer, Ambiguous("the connection was reset") if lost else struck(kind, extra, found), what)

    def _look(self, query: ActionQuery) -> object:
        look = QUESTIONS.get(query.action)
        if look is None:
            raise Refused(f"there is no {query.action.value} here")
        question = Question(
            platform=self._platform,
            query=query,
            fields=fields_of(query.fields),
            place=self._place(query.action, query.address),
            now=self._world.now(),
        )
        return look(question)

    def _struck(self, address: Address, action: Action, text: str, attempt: int | None) -> tuple[str, float]:
        self.requests += 1
        return self._world.act_fault(address, action, text, attempt) or ("", 0.0)

    def _before(self, address: Address, kind: str) -> tuple[PlatformError | StruckAnswer, ...] | None:
        """The answer to a request that does not reach the platform; empty for no answer. None if it does reach it."""
        gateway = self._platform.capabilities[address.account].mode.first is Transport.GATEWAY
        if gateway and self._world.account_fault("connect", address.channel, address.account):
            return (NotSent("there is no connection"),)
        if kind not in BEFORE:
            return None
        error = BEFORE[kind]()
        return () if error is None else (error,)

    def _check(self, action: Action, address: Address, token: int) -> None:
        self._platform.tokens.check(address.account, token)
        if action not in self._platform.capabilities[address.account].actions:
            raise Refused(f"there is no {action.value} here")

    def _place(self, action: Action, address: Address) -> Room | None:
        """The conversation of an action; None for one without a target. Raises `Refused` and its subclasses."""
        if action.spec.target is TargetMode.NONE:
            return None
        if action in IN_ROOMS_LEFT:
            return self._platform.room_at(address)
        return self._platform.open_room(address)

    def _answer(self, answer: asyncio.Future[Any], what: object, about: tuple[str, ...]) -> None:
        when = self._world.now() + self._platform.latency("acted", *about)
        self._world.call_at(when, resolve, answer, what)


def _count(found: object) -> int:
    return len(cast("list[object]", found)) if isinstance(found, list) else 1


def fields_of(text: str | None) -> dict[str, Any]:
    """The parameters of a request. Raises `Refused` if they are no JSON object."""
    if text is None:
        return {}
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.MsgspecError as error:
        raise Refused(f"the parameters are no JSON object: {error}") from None
