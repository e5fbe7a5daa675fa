"""The agent that asks a model: requests, tool calls, and the limits of a turn."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any, cast

import anyio
import msgspec

from trunkline.core.actions.result import ActionResult
from trunkline.core.agent import DoneBefore, GivenTask, Turn
from trunkline.core.agents.earlier_calls import EarlierCalls
from trunkline.core.agents.history import lines_around
from trunkline.core.agents.openai import conversation
from trunkline.core.agents.openai.answer import ModelAnswer, ModelCall
from trunkline.core.agents.openai.config import OpenAIConfig
from trunkline.core.agents.openai.endpoint import ModelEndpoint, RequestTooLong
from trunkline.core.agents.usage import ModelUsage
from trunkline.core.errors import AgentFailed, InvalidCall, PlatformError, TrunklineError, UsageError
from trunkline.core.hands.callback_message import as_data, one_line
from trunkline.core.reasons import Reason
from trunkline.core.values import ChatKind

# The tools of a turn for a model: definitions, and calls in sequence.

#: characters of a result that a model gets
_LONGEST = 20_000
_CUT = "... (cut: the result has {} characters)"
#: the answer to a call with the number of another call
_NOT_MADE = (
    "This call was not made. The turn runs again after an interruption; before that it made another call in the place"
    " of this one, with what follows. If yours is something else, and still needed, call again.\n"
)

Tool = dict[str, Any]
_encode = msgspec.json.Encoder().encode


class TurnTools:
    """The tools of a turn. The work of earlier runs, `before`, is not repeated (`EarlierCalls`)."""

    def __init__(self, turn: Turn, config: OpenAIConfig, before: DoneBefore) -> None:
        self._turn = turn
        self._earlier = EarlierCalls(turn, before)
        own = [turn.message_tool()] if "message" in config.tools else []
        hands = turn.hand_tools()
        #: the definitions, as the request has them
        self.definitions: list[Tool] = [*own, *(hands if "hands" in config.tools else [])]
        self._message = {_name_of(tool) for tool in own}
        self._hands = {_name_of(tool) for tool in hands}
        self._names = [_name_of(tool) for tool in self.definitions]

    async def call(self, call: ModelCall) -> str:
        """Carry out a call; returns the text for the model, also of a refused call."""
        params = arguments_of(call.arguments)
        if isinstance(params, str):
            return _refusal(f"{call.name or 'the call'}: {params}. Nothing was done.")
        try:
            if call.name in self._message:
                return self._result((await self._earlier.message(params)).for_model())
            if call.name in self._hands and call.name in self._names:
                said = await self._earlier.hand_call(call.name, params)
                return _cut(said) if self._earlier.instead is None else self._result({"said": said})
        except (UsageError, PlatformError) as error:
            return _refusal(error.facts or str(error), error)
        if call.name not in self._hands:
            # The gateway records the refusal; its answer knows only the tools for hands.
            with suppress(InvalidCall):
                await self._turn.call_hand_tool(call.name, params)
        there = ", ".join(self._names)
        return _refusal(
            f"no tool {call.name!r:.100}; there {f'are: {there}' if there else 'is none'}. Nothing was done."
        )

    def _result(self, shown: dict[str, Any]) -> str:
        """The result of a call, with a note if the result belongs to another call."""
        instead = self._earlier.instead
        return _result(shown if instead is None else {**shown, "ok": False, "error": _NOT_MADE + as_data(instead)})


def arguments_of(text: str) -> dict[str, Any] | str:
    """The parameters of a call, or a description of the fault. An empty text means no parameters."""
    if not text.strip():
        return {}
    try:
        found: object = msgspec.json.decode(text)
    except (ValueError, RecursionError) as error:
        return f"the arguments are no JSON ({error})"
    if not isinstance(found, dict):
        return f"the arguments are a JSON {_kind(found)} instead of an object"
    return cast("dict[str, Any]", found)


def sent_back(call: ModelCall) -> dict[str, Any]:
    """A call for the next request: endpoints refuse arguments without the form of a JSON object."""
    arguments = "{}" if isinstance(arguments_of(call.arguments), str) else call.arguments.strip() or "{}"
    return {"id": call.id, "type": "function", "function": {"name": call.name or "unnamed", "arguments": arguments}}


def _kind(value: object) -> str:
    names = {"list": "array", "str": "string", "bool": "boolean", "NoneType": "null"}
    return names.get(type(value).__name__, "number")


def _name_of(tool: Tool) -> str:
    return str(tool["function"]["name"])


def _result(shown: dict[str, Any]) -> str:
    return _cut(_encode(shown).decode())


def _refusal(said: str, error: TrunklineError | None = None) -> str:
    reason: object = Reason.BAD_ARGUMENT if error is None else getattr(error, "reason", None)
    shown = {"ok": False, "error": said}
    return _result(shown if reason is None else shown | {"reason": str(reason)})


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[:_LONGEST] + _CUT.format(len(text))


class OpenAIAgent:
    """An agent that asks a model, behind an endpoint with OpenAI's chat completions.

    `key`: that of the endpoint; None: it needs none. Raises `ConfigError` for an unusable key, and if the client
    library is not installed. A turn that fails raises `AgentFailed` with its reason.
    """

    def __init__(self, config: OpenAIConfig, key: str | None = None) -> None:
        self._config = config
        self._endpoint = ModelEndpoint(config, key)
        #: what it has used so far
        self.usage = ModelUsage()

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None, None]:
        """Hold the connections to the endpoint; closed at the end of the block, after which the agent is unusable."""
        try:
            yield
        finally:
            await self._endpoint.client.aclose()

    async def prepare(self) -> None:
        """Load the client library, which the first turn waits for otherwise. Raises `ConfigError`."""
        await self._endpoint.client.get()

    async def turn(self, turn: Turn) -> str | None:
        with anyio.move_on_after(self._config.turn_timeout) as scope:
            return await self._answer(turn)
        assert scope.cancelled_caught
        raise AgentFailed(f"the turn took longer than {self._config.turn_timeout:g} s", Reason.AGENT_TIMEOUT)

    async def _answer(self, turn: Turn) -> str | None:
        """Ask the model, carry out the calls and return the results, until an answer has no call."""
        before = await turn.done_before()
        facts, tools = await facts_of(turn, self._config, before), TurnTools(turn, self._config, before)
        said: list[conversation.Message] = []
        calls = 0
        for _ in range(self._config.max_rounds):
            answer = await self._ask(turn, facts, tools, said)
            if not answer.calls:
                return answer.text if answer.text.strip() else None
            calls += len(answer.calls)
            if calls > self._config.max_calls:
                # Before any of them is carried out: a model that asks for a thousand means none of them.
                why = f"the model asked for {calls} tool calls in one turn; {self._config.max_calls} are allowed"
                raise AgentFailed(why, Reason.TOO_MANY_CALLS)
            back = [sent_back(call) for call in answer.calls]
            said.append({"role": "assistant", "content": answer.text or None, "tool_calls": back})
            for call in answer.calls:
                said.append({"role": "tool", "tool_call_id": call.id, "content": await tools.call(call)})
        why = f"the model still called tools after {self._config.max_rounds} requests"
        raise AgentFailed(why, Reason.TOO_MANY_CALLS)

    async def _ask(
        self, turn: Turn, facts: conversation.TurnFacts, tools: TurnTools, said: list[conversation.Message]
    ) -> ModelAnswer:
        """The next answer of the model. An endpoint with a smaller context than configured gets less of the history."""
        share = self._history_tokens(facts, tools, said)
        exchanges = conversation.exchanges_of(facts)
        while True:
            before = conversation.fitting(exchanges, share)
            try:
                answer = await self._endpoint.ask(
                    self._body([*conversation.composed(facts, before), *said], tools), turn.id
                )
            except RequestTooLong:
                if not before:
                    raise
                share = conversation.tokens_of(before) // 2
            else:
                self.usage = self.usage.plus(answer.usage)
                return answer

    def _history_tokens(self, facts: conversation.TurnFacts, tools: TurnTools, said: list[conversation.Message]) -> int:
        """The tokens left for the history. Raises `AgentFailed` if there is no room for the turn itself."""
        config = self._config
        need = conversation.tokens_of(
            [*conversation.system_messages(facts), conversation.own_message(facts), *said, *tools.definitions]
        )
        left = config.context_tokens - need - (config.max_tokens or 0)
        if left < 0:
            parts = "its message, prompts and tools" if not said else "its message, prompts, tools and their results"
            more = f" and {config.max_tokens} for the answer" if config.max_tokens else ""
            why = f"{parts} have about {need} tokens{more}; `context_tokens` is {config.context_tokens}"
            raise AgentFailed(why, Reason.INPUT_TOO_LONG)
        return min(left, config.history_tokens)

    def _body(self, messages: list[conversation.Message], tools: TurnTools) -> dict[str, Any]:
        config = self._config
        body: dict[str, Any] = {"model": config.model, "messages": messages, "stream": config.stream}
        if tools.definitions:
            body["tools"] = tools.definitions
        if config.max_tokens is not None:
            body[config.max_tokens_field] = config.max_tokens
        # As extra fields: the client library passes on only those that it knows.
        return {**body, "extra_body": config.options}


async def facts_of(turn: Turn, config: OpenAIConfig, before: DoneBefore) -> conversation.TurnFacts:
    history = (await lines_around(turn, config.history_lines)).lines if config.history_lines else ()
    writers = {line.by.id for line in history if line.role == "user" and line.by is not None}
    if turn.callback is None:
        writers.add(turn.peer.id)
    is_group = turn.place is not None and turn.place.kind is not ChatKind.DIRECT
    return conversation.TurnFacts(
        ref=turn.id.removeprefix("t-"),
        prompt=turn.prompt,
        text=turn.for_model,
        # The outcome of a delegation says itself whose it is.
        author=None if turn.callback is not None else turn.peer,
        is_shared=is_group or len(writers) > 1,
        history=history,
        done=[*map(_sent, before.sent), *map(_given, before.delegated)],
    )


def _sent(result: ActionResult) -> str:
    """A message queued by an earlier run of the turn, for the model."""
    where = "" if result.place is None else f" in {result.place}"
    return f"{result.action.value}{where}:\n{as_data(result.said or '')}"


def _given(given: GivenTask) -> str:
    return f"delegated to {one_line(given.hand)}, as {given.delegation}:\n{as_data(given.task)}"
