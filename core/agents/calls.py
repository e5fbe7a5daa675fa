"""The tools of a turn for agents outside of the process: calls by name with JSON parameters, and what comes back."""

from typing import Annotated, Any

import msgspec

from trunkline.core.agent import DoneBefore, Turn
from trunkline.core.agents.earlier_calls import EarlierCalls
from trunkline.core.agents.turn_document import history_of
from trunkline.core.agents.turn_limits import TurnLimits
from trunkline.core.errors import AgentFailed, PlatformError, UsageError
from trunkline.core.message_tool.schema import NAME as MESSAGE
from trunkline.core.reasons import Reason
from trunkline.core.untrusted import check_ids, check_json

#: the tool that reads more of the transcript than the document of the turn has
HISTORY = "history"
#: bounds of what that tool returns
_LINES, _CHARACTERS = 1000, 1_000_000


class RequestedCall(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A call of a tool. `call` is the caller's own id, which comes back with the result."""

    call: Annotated[str, msgspec.Meta(max_length=200)]
    tool: str
    params: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        check_ids(self, "call")


class CallOutcome(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of a call, or the reason why nothing was done."""

    ok: bool
    #: of the message tool an object, of the tools for hands a text, of `history` an object with `lines` and `cut`
    result: Any = None
    #: what is wrong with the call, and what to do about it
    error: str = ""
    #: reason code of the refusal, if any
    reason: Reason | None = None


class _Made(msgspec.Struct, frozen=True, kw_only=True):
    tool: str
    params: dict[str, Any]
    outcome: CallOutcome


class CallRunner:
    def __init__(self, turn: Turn, limits: TurnLimits) -> None:
        self._turn = turn
        self._most = limits.max_calls
        self._by_content = limits.match_calls == "content"
        self._earlier: EarlierCalls | None = None
        self._made: list[_Made] = []
        #: how many calls the present run of the agent has made
        self._at = 0

    def repeat(self) -> None:
        """Begin another run of the turn, whose first calls were made already and are not repeated."""
        self._at = 0

    def expect(self, number: int) -> None:
        """Raise `AgentFailed` if so many more calls are too many."""
        if self._at + number > self._most:
            raise AgentFailed(f"more than {self._most} calls of tools; see `max_calls`", Reason.TOO_MANY_CALLS)

    async def make(self, tool: str, params: dict[str, Any]) -> CallOutcome:
        """Carry out a call; a refusal is in the outcome.

        Raises `AgentFailed` for one call too many, and if a repeated run makes another call than the first one made.
        """
        self.expect(1)
        number, self._at = self._at, self._at + 1
        if number < len(self._made):
            before = self._made[number]
            if (before.tool, before.params) != (tool, params):
                facts = f"call {number + 1} is another one than before the agent broke off, so the turn is not repeated"
                raise AgentFailed(facts, Reason.AGENT_BROKE_OFF)
            return before.outcome
        outcome = await self._carry_out(tool, params)
        self._made.append(_Made(tool=tool, params=params, outcome=outcome))
        return outcome

    async def _carry_out(self, tool: str, params: dict[str, Any]) -> CallOutcome:
        if wrong := check_json(params):
            return CallOutcome(ok=False, error=f"params {wrong}", reason=Reason.BAD_ARGUMENT)
        try:
            return CallOutcome(ok=True, result=await self._result(tool, params))
        except (UsageError, PlatformError) as error:
            found: object = getattr(error, "reason", None)
            reason = found if isinstance(found, Reason) else None
            return CallOutcome(ok=False, error=error.facts or str(error), reason=reason)

    async def _result(self, tool: str, params: dict[str, Any]) -> Any:
        if tool == MESSAGE:
            return (await (await self._tools()).message(params)).for_model()
        if tool == HISTORY:
            lines, cut = await history_of(self._turn, _limit(params), _CHARACTERS)
            return {"lines": [msgspec.to_builtins(line) for line in lines], "cut": cut}
        return await (await self._tools()).hand_call(tool, params)

    async def _tools(self) -> EarlierCalls:
        """The tools of the turn, which know what earlier runs have done if calls are matched by their content."""
        if self._earlier is None:
            before = await self._turn.done_before() if self._by_content else DoneBefore()
            self._earlier = EarlierCalls(self._turn, before, trusting=True)
        return self._earlier


def _limit(params: dict[str, Any]) -> int:
    """How many lines a call of `history` asks for. Raises `UsageError`."""
    limit: object = params.get("limit", 100)
    if set(params) - {"limit"} or type(limit) is not int or not 1 <= limit <= _LINES:
        raise UsageError(f"`history` takes one parameter, `limit`: the number of lines, from 1 to {_LINES}")
    return limit
