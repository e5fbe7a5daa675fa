"""The agent that asks a model: requests, tool calls, and the limits of a turn."""

from __future__ import annotations

from typing import Any

from trunkline.core.agent import Turn
from trunkline.core.agents.openai.config import OpenAIConfig


class OpenAIAgent:
    """An agent that asks a model behind an endpoint that speaks OpenAI's chat completions.

    `key`: that of the endpoint; None: it needs none. `client`: an `openai.AsyncOpenAI` to use instead of an own one.
    Raises `ConfigError` if the client library is not installed.
    """

    def __init__(self, config: OpenAIConfig, key: str | None = None, *, client: Any = None) -> None:
        self._config = config
        self._client = client

    async def turn(self, turn: Turn) -> str | None:
        raise NotImplementedError

    async def aclose(self) -> None:
        """Close the connections to the endpoint. The agent cannot be used any more."""
