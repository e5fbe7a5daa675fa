"""The agent that asks a model: requests, tool calls, and the limits of a turn."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio

from trunkline.core.actions.result import ActionResult
from trunkline.core.agent import DoneBefore, GivenTask, Turn
from trunkline.core.agents.history import lines_around
from trunkline.core.agents.openai.answer import ModelAnswer
from trunkline.core.agents.openai.config import OpenAIConfig
from trunkline.core.agents.openai.conversation import (
    Message,
    TurnFacts,
    composed,
    exchanges_of,
    fitting,
    own_message,
    system_messages,
    tokens_of,
)
from trunkline.core.agents.openai.endpoint import ModelEndpoint, RequestTooLong
from trunkline.core.agents.openai.tools import TurnTools, sent_back
from trunkline.core.agents.usage import ModelUsage
from trunkline.core.errors import AgentFailed
from trunkline.core.hands.callback_message import as_data, one_line
from trunkline.core.reasons import Reason
from trunkline.core.values import ChatKind

if TYPE_CHECKING:
    from openai import AsyncOpenAI


class OpenAIAgent:
    """An agent that asks a model, behind an endpoint with OpenAI's chat completions.

    `key`: that of the endpoint; None: it needs none. `client`: an `openai.AsyncOpenAI` to use instead of an own client.
    Raises `ConfigError` for an unusable key, and if the client library is not installed. A turn that fails raises
    `AgentFailed` with its reason.
    """

    def __init__(self, config: OpenAIConfig, key: str | None = None, *, client: AsyncOpenAI | None = None) -> None:
        self._config = config
        self._endpoint = ModelEndpoint(config, key, client)
        #: what it has used so far
        self.usage = ModelUsage()

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None, None]:
        """Hold the connections to the endpoint; closed at the end of the block, after which the agent is unusable."""
        try:
            yield
        finally:
            await self._endpoint.aclose()

    async def prepare(self) -> None:
        """Load the client library, which the first turn waits for otherwise. Raises `ConfigError`."""
        await self._endpoint.prepare()

    async def turn(self, turn: Turn) -> str | None:
        with anyio.move_on_after(self._config.turn_timeout) as scope:
            return await self._answer(turn)
        assert scope.cancelled_caught
        raise AgentFailed(f"the turn took longer than {self._config.turn_timeout:g} s", Reason.AGENT_TIMEOUT)

    async def _answer(self, turn: Turn) -> str | None:
        """Ask the model, carry out the calls and return the results, until an answer has no call."""
        before = await turn.done_before()
        facts, tools = await facts_of(turn, self._config, before), TurnTools(turn, self._config, before)
        said: list[Message] = []
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

    async def _ask(self, turn: Turn, facts: TurnFacts, tools: TurnTools, said: list[Message]) -> ModelAnswer:
        """The next answer of the model. An endpoint with a smaller context than configured gets less of the history."""
        share = self._history_tokens(facts, tools, said)
        exchanges = exchanges_of(facts)
        while True:
            before = fitting(exchanges, share)
            try:
                answer = await self._endpoint.ask(self._body([*composed(facts, before), *said], tools), turn.id)
            except RequestTooLong:
                if not before:
                    raise
                share = tokens_of(before) // 2
            else:
                self.usage = self.usage.plus(answer.usage)
                return answer

    def _history_tokens(self, facts: TurnFacts, tools: TurnTools, said: list[Message]) -> int:
        """The tokens left for the history. Raises `AgentFailed` if there is no room for the turn itself."""
        config = self._config
        need = tokens_of([*system_messages(facts), own_message(facts), *said, *tools.definitions])
        left = config.context_tokens - need - (config.max_tokens or 0)
        if left < 0:
            parts = "its message, prompts and tools" if not said else "its message, prompts, tools and their results"
            more = f" and {config.max_tokens} for the answer" if config.max_tokens else ""
            why = f"{parts} have about {need} tokens{more}; `context_tokens` is {config.context_tokens}"
            raise AgentFailed(why, Reason.INPUT_TOO_LONG)
        return min(left, config.history_tokens)

    def _body(self, messages: list[Message], tools: TurnTools) -> dict[str, Any]:
        config = self._config
        body: dict[str, Any] = {"model": config.model, "messages": messages, "stream": config.stream}
        if tools.definitions:
            body["tools"] = tools.definitions
        if config.max_tokens is not None:
            body[config.max_tokens_field] = config.max_tokens
        # As extra fields: the client library passes on only those that it knows.
        return {**body, "extra_body": config.options}


async def facts_of(turn: Turn, config: OpenAIConfig, before: DoneBefore) -> TurnFacts:
    """The facts of a turn for a model."""
    history = (await lines_around(turn, config.history_lines)).lines if config.history_lines else ()
    writers = {line.by.id for line in history if line.role == "user" and line.by is not None}
    if turn.callback is None:
        writers.add(turn.peer.id)
    is_group = turn.place is not None and turn.place.kind is not ChatKind.DIRECT
    return TurnFacts(
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
