"""The turn that a running agent holds. It checks what the agent passes in, and refuses its tools once it has ended."""

from __future__ import annotations

from typing import Protocol

from trunkline.core.agent import CALLBACK_PROMPT, CallbackFacts
from trunkline.core.errors import InvalidCall, TurnOver, UsageError
from trunkline.core.hands.port import DelegationRequest
from trunkline.core.reasons import Reason
from trunkline.core.runtime.client_sends.target_resolution import ToolSend
from trunkline.core.store.records import Work
from trunkline.core.untrusted import check_address, check_texts
from trunkline.core.values import Address, DelegationId, Peer, SessionId, TranscriptLine, TurnId, WorkKind
from trunkline.core.well_formed import plain_text


class Tools(Protocol):
    """What a turn can do, for the part of the runtime that runs it. `call`: number of the tool call in its turn."""

    async def tool_send(self, work: Work, call: int, text: str, asked: ToolSend, cause: int) -> None: ...

    async def delegate(
        self, work: Work, session: SessionId, call: int, asked: DelegationRequest, cause: int
    ) -> DelegationId: ...

    async def history(self, session: SessionId) -> tuple[TranscriptLine, ...]: ...

    def refuse(self, work: Work, tool: str, error: UsageError, reason: Reason, cause: int) -> None:
        """Record a refused tool call."""
        ...


class LiveTurn:
    """The `trunkline.core.agent.Turn` of a running agent."""

    def __init__(self, tools: Tools, work: Work, started: int, session_id: SessionId) -> None:
        self._tools = tools
        self._work = work
        self._started = started
        self._calls = 0
        self._over = False
        self.id: TurnId = work.turn
        self.agent: str = work.agent
        self.session_key: str = work.session_key
        self.session_id: SessionId = session_id
        self.work: WorkKind = work.kind
        self.text: str = work.text
        self.peer: Peer = work.peer
        self.place: Address | None = work.place
        self.callback: CallbackFacts | None = work.callback
        self.prompt: str | None = None if work.callback is None else CALLBACK_PROMPT

    def end(self) -> None:
        """The agent has returned: its tools are refused from now on."""
        self._over = True

    async def send(
        self,
        text: str,
        to: Address | str | None = None,
        *,
        channel: str | None = None,
        account: str | None = None,
        thread: str | None = None,
        session: str | None = None,
    ) -> None:
        self._begin("message")
        named = {"channel": channel, "account": account, "thread": thread, "session": session}
        exact = isinstance(to, Address)
        wrong = check_address(to) if exact else check_texts((("to", to),))
        said = self._text("message", "text", text, wrong or check_texts(named.items()))
        asked = ToolSend(running=self.session_id, to=to, **named)
        await self._tools.tool_send(self._work, self._calls, said, asked, self._started)

    async def delegate(self, hand: str, task: str, *, thread: bool | None = None) -> DelegationId:
        self._begin("delegate")
        wrong = "" if thread in (None, True, False) else "thread is not a bool"
        name = self._text("delegate", "hand", hand, wrong)
        asked = DelegationRequest(hand=name, task=self._text("delegate", "task", task, ""), thread=thread)
        return await self._tools.delegate(self._work, self.session_id, self._calls, asked, self._started)

    async def history(self) -> tuple[TranscriptLine, ...]:
        return await self._tools.history(self.session_id)

    def _begin(self, tool: str) -> None:
        """Number a tool call. Raises `TurnOver`."""
        self._calls += 1
        if self._over:
            error = TurnOver(f"{tool} of turn {self.id}: call its tools before you return from `turn`")
            self._tools.refuse(self._work, tool, error, Reason.TURN_OVER, self._started)
            raise error

    def _text(self, tool: str, name: str, value: object, wrong: str) -> str:
        """A required text as a storable one. Raises `InvalidCall` for anything else, or if something is `wrong`."""
        said = plain_text(value)
        if wrong or said is None:
            error = InvalidCall(f"{tool}: {wrong or f'{name} is of type {type(value).__name__} instead of a str'}")
            self._tools.refuse(self._work, tool, error, Reason.BAD_ARGUMENT, self._started)
            raise error
        return said
