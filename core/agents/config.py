"""Which implementation an agent has: the values of `agents` in the file of `trunkline serve`."""

from pydantic import Field, model_validator

from trunkline.core.agents.openai.config import OpenAIConfig
from trunkline.core.agents.program.config import ProgramConfig
from trunkline.core.agents.webhook.config import WebhookConfig
from trunkline.core.config.base import Model

#: the kinds of implementations, in the order in which messages name them
KINDS = ("echo", "openai", "program", "webhook")


class EchoConfig(Model):
    """An agent which echoes the text of each message: for trying out a gateway."""

    introduction: str = Field(default="", max_length=2000)
    """Follows its first answer in each session, after a blank line."""


class AgentImplementation(Model):
    """The implementation of an agent: exactly one of the fields."""

    echo: EchoConfig | None = None
    """Answers with the text of the message."""
    openai: OpenAIConfig | None = None
    """A model behind an endpoint that speaks OpenAI's chat completions."""
    program: ProgramConfig | None = None
    """A program that reads turns from its standard input and writes answers to its standard output."""
    webhook: WebhookConfig | None = None
    """A URL to which each turn is posted."""

    @model_validator(mode="after")
    def _exactly_one(self) -> "AgentImplementation":
        given = [kind for kind in KINDS if getattr(self, kind) is not None]
        if len(given) != 1:
            found = f"it has {' and '.join(f'`{kind}`' for kind in given)}" if given else "it has none of them"
            raise ValueError(f"an agent has exactly one of `echo`, `openai`, `program` and `webhook`; {found}")
        return self

    @property
    def kind(self) -> str:
        return next(kind for kind in KINDS if getattr(self, kind) is not None)
