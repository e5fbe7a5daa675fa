"""A gateway whose agent asks a scripted model."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.support.model_server import Asked, ModelServer, Reply, model_server
from tests.support.small_gateway import Running, TinyPlatform, serving
from trunkline.core.agents.openai.agent import OpenAIAgent
from trunkline.core.agents.openai.config import OpenAIConfig
from trunkline.core.events.gateway import TurnEnded
from trunkline.core.reasons import Reason

#: no test waits for a model that will not answer
QUICK = {"retry_wait": 0.01, "silence": 5.0, "timeout": 5.0, "turn_timeout": 10.0}

#: these tests are about the agent, not about what people hear of its failures
SILENT = {"error_notice": ""}


class Served:
    """A gateway, its platform, and the model behind its agent."""

    def __init__(self, running: Running, platform: TinyPlatform, model: ModelServer, agent: OpenAIAgent) -> None:
        self.running = running
        self.platform = platform
        self.model = model
        self.agent = agent
        self._said = 0

    @property
    def texts(self) -> list[str]:
        """What the platform has accepted."""
        return [one.text for one in self.platform.sent]

    async def say(self, text: str = "hello", **where: Any) -> TurnEnded:
        """A person writes; returns how the turn ends."""
        self._said += 1
        before = len(self.running.recorded(TurnEnded))
        self.platform.say(f"m{self._said}", text=text, **where)
        return (await self.running.until(TurnEnded, before + 1))[before]

    async def fails(self, text: str = "hello", **where: Any) -> tuple[Reason | None, str]:
        """A person writes; returns the reason and the details of the turn, which must fail."""
        ended = await self.say(text, **where)
        assert ended.outcome == "failed"
        return ended.reason, ended.detail


@asynccontextmanager
async def asking(
    path: Path,
    script: Sequence[Reply] | Callable[[Asked], Reply] = (),
    *,
    key: str | None = None,
    server: dict[str, Any] | None = None,
    gateway: dict[str, Any] | None = None,
    **settings: Any,
) -> AsyncGenerator[Served, None]:
    """A gateway whose agent `main` asks the scripted model. `settings`: of the agent; `gateway`: of the gateway."""
    platform = TinyPlatform()
    try:
        async with model_server(script, **(server or {})) as model:
            config = OpenAIConfig.model_validate({"model": "m", "base_url": model.url, **QUICK, **settings})
            agent = OpenAIAgent(config, key)
            async with (
                agent.running(),
                serving(path, platform, agent, **{"turns": SILENT, **(gateway or {})}) as running,
            ):
                yield Served(running, platform, model, agent)
    finally:
        platform.close()
