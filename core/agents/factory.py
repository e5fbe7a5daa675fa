"""Makes an agent from a configuration, and runs the resources of agents while a gateway runs."""

from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Protocol, runtime_checkable

import anyio

from trunkline.core.agent import Agent, Turn
from trunkline.core.agents.config import AgentImplementation
from trunkline.core.agents.usage import ModelUsage
from trunkline.core.env import Env
from trunkline.core.errors import ConfigError
from trunkline.core.values import ChatKind, WorkKind

# An agent which echoes the text of each message: for trying out a gateway without a model.

#: the role of what the agent said, in transcripts
_OWN = "assistant"


class EchoAgent:
    """Answers a message with the same text, and in a conversation of several people with the name of the author.

    The result of a hand is passed on with the hand's name. Nobody wrote a wake-up, so it gets no answer.
    """

    def __init__(self, introduction: str = "") -> None:
        self._introduction = introduction.strip()

    async def turn(self, turn: Turn) -> str | None:
        said = _said(turn)
        if said is None or not self._introduction or turn.work is not WorkKind.MESSAGE:
            return said
        if any(line.role == _OWN for line in await turn.history()):
            return said
        return f"{said}\n\n{self._introduction}"


def _said(turn: Turn) -> str | None:
    if turn.callback is not None:
        return f"{turn.callback.hand} ({turn.callback.outcome.value}): {turn.text}"
    if turn.work is WorkKind.TASK:
        return turn.text
    if turn.work is not WorkKind.MESSAGE or not turn.text.strip():
        return None
    if turn.place is None or turn.place.kind is ChatKind.DIRECT:
        return turn.text
    return f"{turn.peer.name or turn.peer.id}: {turn.text}"


@runtime_checkable
class Preparing(Protocol):
    """An agent with something to load before the first turn."""

    async def prepare(self) -> None:
        """Load everything beside the event loop. Raises `ConfigError`."""
        ...


@runtime_checkable
class Metered(Protocol):
    @property
    def usage(self) -> ModelUsage: ...


@runtime_checkable
class Lasting(Protocol):
    """An agent or adapter with resources while the gateway runs: a process, connections."""

    def running(self) -> AbstractAsyncContextManager[object]:
        """Hold its resources; entered before the first turn, left after the last."""
        ...


def make_agent(
    agent_id: str, implementation: AgentImplementation, *, folder: Path, environ: Mapping[str, str], env: Env
) -> Agent:
    """The agent described by a configuration. Paths are relative to `folder`; `environ` may have the secrets.

    Starts nothing: enter `running` with all agents around `Gateway.run`. Raises `ConfigError` for a secret or a file
    that is not there, and for an extra that is not installed.
    """
    if implementation.echo is not None:
        return EchoAgent(implementation.echo.introduction)
    try:
        if implementation.openai is not None:
            from trunkline.core.agents.openai.agent import OpenAIAgent

            key = implementation.openai.api_key
            return OpenAIAgent(implementation.openai, None if key is None else key.read(folder, environ))
        if implementation.program is not None:
            from trunkline.core.agents.program.agent import ProgramAgent
            from trunkline.core.agents.program.launch import launch_of

            return ProgramAgent(agent_id, implementation.program, launch_of(implementation.program, folder, environ))
        if implementation.webhook is not None:
            try:
                from trunkline.core.agents.webhook.agent import make_webhook
            except ImportError as error:
                raise ConfigError("a webhook needs the package httpx: install trunkline[http]") from error
            return make_webhook(agent_id, implementation.webhook, folder=folder, environ=environ, env=env)
    except ConfigError as error:
        raise ConfigError(f"agents.{agent_id}.{implementation.kind}: {error.facts}") from error
    raise AssertionError("an implementation has exactly one kind")


def used_by(agents: Mapping[str, Agent]) -> dict[str, ModelUsage]:
    return {name: agent.usage for name, agent in agents.items() if isinstance(agent, Metered)}


async def prepare(agents: Iterable[Agent]) -> None:
    """Load what the first turns would wait for. Raises `ConfigError`, in a group."""
    async with anyio.create_task_group() as group:
        for agent in agents:
            if isinstance(agent, Preparing):
                group.start_soon(agent.prepare)


@asynccontextmanager
async def running(parts: Iterable[object]) -> AsyncGenerator[None, None]:
    """Keep what agents or adapters need until the block ends; processes start at their first turn, and end here."""
    # Raised behind the task groups of the parts, which would put it into a group.
    failure: Exception | None = None
    async with AsyncExitStack() as stack:
        for part in parts:
            if isinstance(part, Lasting):
                await stack.enter_async_context(part.running())
        try:
            yield
        except Exception as error:  # noqa: BLE001 -- raised again below
            failure = error
    if failure is not None:
        raise failure
