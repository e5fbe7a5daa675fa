"""The results of actions, with the events of each; and how the sends of a turn have ended, before its answer."""

from collections.abc import Sequence

import anyio
import msgspec

from trunkline.core.action_catalogue import Action
from trunkline.core.actions.marker import unmarked
from trunkline.core.actions.result import ActionResult, ActionStatus
from trunkline.core.delivery.answers import SaidInTurn, repeated_by
from trunkline.core.errors import UsageError
from trunkline.core.events.actions import ActionPreviewed
from trunkline.core.events.delivery import IntentSuppressed
from trunkline.core.events.gateway import ToolRefused, TurnEnded
from trunkline.core.message_parts import MessageParts
from trunkline.core.message_tool.calls import PlannedCall
from trunkline.core.reasons import Reason
from trunkline.core.records.rows import IntentRow, Work
from trunkline.core.runtime.client_sends.target_resolution import ToolSend
from trunkline.core.runtime.context import Context
from trunkline.core.runtime.outbound.open_intents import OpenIntents
from trunkline.core.states.intent import is_final
from trunkline.core.store.queries import FindIntentFate, LoadIntents
from trunkline.core.text.mirror_text import said
from trunkline.core.text.model_text import ModelText
from trunkline.core.values import Address, IntentId, IntentState, Poll, SessionId

# A call of a tool as the runtime sees it: which turn makes it, what a message says, and where; and its refusal.


class ToolCall(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    work: Work
    session: SessionId
    #: its number in the turn: a turn that runs again makes the same calls
    number: int
    #: seq of the start of the turn
    cause: int
    #: the turn runs again, so an earlier process may have made this call
    again: bool = False
    #: what its turn has queued so far; a call adds to it
    said: list[SaidInTurn] = msgspec.field(default_factory=list[SaidInTurn])

    @property
    def ids(self) -> dict[str, str | None]:
        return {"inbound": self.work.id, "turn": self.work.turn}

    def intent(self, target: int = 0) -> IntentId:
        """The id of its intent, the same in every run; `target`: the number of a broadcast's target, from 1."""
        name = f"{self.work.id}.send{self.number}"
        return IntentId(f"{name}-{target}" if target else name)


class ToolMessage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    aim: ToolSend
    text: str
    action: Action = Action.SEND
    #: URLs or paths of files
    media: tuple[str, ...] = ()
    poll: Poll | None = None
    #: platform-specific JSON
    payload: str | None = None
    parts: MessageParts | None = None
    best_effort: bool = False
    dry_run: bool = False
    #: the call with wire parameters that it comes from, whose requirements are checked
    planned: PlannedCall | None = None

    @property
    def is_plain(self) -> bool:
        """Whether the message is a text and nothing else, which every adapter can send."""
        return not self.media and self.poll is None and self.payload is None and self.parts is None


def record_refusal(context: Context, work: Work, tool: str, error: UsageError, reason: Reason, cause: int) -> None:
    """Record that a call of a turn is refused; it has no effect."""
    refused = ToolRefused(tool=tool, reason=reason, detail=error.facts)
    context.events.record(refused, cause, inbound=work.id, turn=work.turn)


#: `ActionResult.handled_by`: the queue, the platform, a dry run
CORE = "core"
ADAPTER = "adapter"
DRY_RUN = "dry-run"

#: the calls of a turn among which those of earlier runs are looked for
_NUMBERS = 200


class Results:
    """Makes results, and records what they report."""

    def __init__(self, context: Context) -> None:
        self._ctx = context

    async def of_earlier_run(
        self, action: Action, intent: IntentId, call: ToolCall, text: str, called: int
    ) -> ActionResult | None:
        """The result of the same call in an earlier run of the turn, whose process died; None: it did nothing."""
        loaded = await self._ctx.store.read(LoadIntents(ids=(intent,)))
        if not loaded.rows:
            return None
        self.record_repeat(call, intent, text, called)
        return self.stored(action, loaded.rows[0])

    async def of_earlier_runs(self, work: Work) -> tuple[ActionResult, ...]:
        """The results of earlier runs of a turn, in the order of its calls, as far as single calls go."""
        names = tuple(IntentId(f"{work.id}.send{number}") for number in range(1, _NUMBERS + 1))
        loaded = await self._ctx.store.read(LoadIntents(ids=names))
        return tuple(msgspec.structs.replace(self.stored(_action_of(row), row), said=_said(row)) for row in loaded.rows)

    def record_repeat(self, call: ToolCall, intent: IntentId, text: str, cause: int) -> None:
        body = IntentSuppressed(reason=Reason.ALREADY_QUEUED, text=text)
        self._ctx.events.record(body, cause, turn=call.work.turn, intent=intent)

    def stored(self, action: Action, row: IntentRow) -> ActionResult:
        """The result of a stored intent: queued, or cancelled by a hook. The same in every run of its turn."""
        cancelled, reason = row.is_cancelled, row.progress.reason
        return ActionResult(
            action=action,
            status=ActionStatus.SUPPRESSED if cancelled else ActionStatus.QUEUED,
            handled_by=CORE,
            channel=row.address.channel,
            place=row.address,
            intent=row.id,
            session_key=row.mirror_key,
            reason=reason if cancelled else None,
            detail=reason.sentence if cancelled and reason is not None else "",
        )

    def record_unsent(
        self, action: Action, call: ToolCall, row: IntentRow, text: str, called: int, reason: Reason = Reason.NO_REPLY
    ) -> ActionResult:
        """The result of an unsent message; by default, nothing is visible."""
        self._ctx.events.record(IntentSuppressed(reason=reason, text=text), called, **call.ids)
        return ActionResult(
            action=action,
            status=ActionStatus.SUPPRESSED,
            handled_by=CORE,
            channel=row.address.channel,
            place=row.address,
            reason=reason,
            detail=reason.sentence,
        )

    def record_preview(
        self, action: Action, call: ToolCall, place: Address, text: str, cause: int, *, session: str | None = None
    ) -> ActionResult:
        """The result of a dry run, which has no effects. `session`: the one that would remember it."""
        body = ActionPreviewed(action=action, channel=place.channel, place=place, text=text)
        self._ctx.events.record(body, cause, **call.ids)
        return ActionResult(
            action=action,
            status=ActionStatus.DRY_RUN,
            handled_by=DRY_RUN,
            channel=place.channel,
            place=place,
            session_key=session,
        )


def _action_of(row: IntentRow) -> Action:
    change = row.extra.action
    return Action.SEND if change is None else Action(change.action)


def _said(row: IntentRow) -> str:
    """The text of an intent, after hooks and chunking; of files alone, where they are."""
    return said(row.content.chunks) or ", ".join(row.content.media)


class TurnReply(msgspec.Struct, frozen=True, kw_only=True):
    """The reply of an agent, or how its run failed; and the sends of the turn with the message tool."""

    answer: ModelText | None = None
    failure: TurnEnded | None = None
    said: Sequence[SaidInTurn] = ()
    #: an earlier run of the turn may have sent more
    again: bool = False

    @property
    def text(self) -> str | None:
        return None if self.answer is None else self.answer.text


class SaidInTurns:
    """Finds the sends of turns with the words of an answer, and waits for a while for their end."""

    def __init__(self, context: Context, intents: OpenIntents) -> None:
        self._ctx, self._intents = context, intents
        self._results = Results(context)

    async def find_repeated(
        self, work: Work, reply: TurnReply, answer: ModelText | None, to: Address | None
    ) -> tuple[SaidInTurn, ...]:
        """The sends of a turn with everything in an answer to a place, once each has ended or the wait is over."""
        said = reply.said
        if to is None or answer is None or not (said or reply.again):
            return ()
        earlier = await self._of_earlier_runs(work, {sent.intent for sent in said}) if reply.again else ()
        repeated = repeated_by(answer.text, answer.media, to, (*said, *earlier))
        config = self._ctx.config
        # One attempt with all its time is waited for, but not a platform that is down.
        until = self._ctx.env.steady() + config.delivery.request_timeout + config.turns.await_answer
        return tuple([msgspec.structs.replace(sent, state=await self._wait_for_end(sent, until)) for sent in repeated])

    async def _of_earlier_runs(self, work: Work, known: set[IntentId | None]) -> list[SaidInTurn]:
        mark = self._ctx.config.message_tool(work.agent).cross_context.marker
        return [
            SaidInTurn(place=sent.place, text=unmarked(sent.said or "", mark.prefix, mark.suffix), intent=sent.intent)
            for sent in await self._results.of_earlier_runs(work)
            if sent.place is not None and sent.intent not in known
        ]

    async def _wait_for_end(self, sent: SaidInTurn, until: float) -> IntentState:
        """The state of a send, once it has ended or the wait is over; of an unknown send, the last known state."""
        if sent.intent is None:
            return sent.state
        ended = self._intents.wait_for(sent.intent)
        try:
            fate = await self._ctx.store.read(FindIntentFate(intent=sent.intent))
            if fate is not None and not is_final(fate.state):
                with anyio.move_on_after(until - self._ctx.env.steady()):
                    await ended.wait()
                fate = await self._ctx.store.read(FindIntentFate(intent=sent.intent))
            return sent.state if fate is None else fate.state
        finally:
            self._intents.forget(sent.intent, ended)
