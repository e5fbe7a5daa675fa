"""An agent that asks a model behind any endpoint that speaks OpenAI's chat completions."""

from trunkline.core.agents.openai.agent import OpenAIAgent
from trunkline.core.agents.openai.config import OpenAIConfig

__all__ = ["OpenAIAgent", "OpenAIConfig"]
