"""Configuration of an agent with a model."""

from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, field_validator

from trunkline.core.config.base import Duration, Flag, Model
from trunkline.core.config.secrets import Secret

#: what the agent sets itself in each request
_OWN = ("model", "messages", "tools", "stream", "max_tokens", "max_completion_tokens", "n", "functions")

_Seconds = Annotated[Duration, Field(gt=0)]


class OpenAIConfig(Model):
    """An agent that asks a model, behind an endpoint with OpenAI's chat completions.

    Tokens are estimated at one for each three bytes of UTF-8, because each model counts in its own way.
    """

    model: str = Field(min_length=1)
    """Name of the model, as the endpoint knows it."""
    base_url: str = "https://api.openai.com/v1"
    """Address of the endpoint, without `/chat/completions`."""
    api_key: Secret | None = None
    """The key for the endpoint. Servers on your own machine often need none."""
    options: dict[str, Any] = Field(default_factory=dict)
    """More fields of the request, such as `temperature`, passed on as they are."""
    stream: Flag = True
    """Whether the answer is read as it is written. Only then does a model that hangs end before `timeout`."""
    tools: tuple[Literal["message", "hands"], ...] = ("message", "hands")
    """The tools that the model gets: `message` is the message tool, `hands` those that delegate."""
    max_tokens: int | None = Field(default=None, gt=0)
    """Maximum length of one answer in tokens, as the request asks for it. By default as the endpoint has it."""
    max_tokens_field: Literal["max_completion_tokens", "max_tokens"] = "max_completion_tokens"
    """The name that the endpoint has for it; older ones know only `max_tokens`."""
    context_tokens: int = Field(default=32_000, gt=0)
    """Estimated tokens that a request may have: prompts, tools, history, message, and what the turn has said so far."""
    history_tokens: int = Field(default=16_000, ge=0)
    """Estimated tokens of earlier messages; 0 for none. Whole exchanges are left out, the oldest first."""
    history_lines: int = Field(default=200, ge=0)
    """Lines of the transcript before the message that are looked at, the newest."""
    max_answer: int = Field(default=100_000, gt=0)
    """Maximum length of one answer, in characters, with its tool calls."""
    max_calls: int = Field(default=32, ge=0)
    """Tool calls of one turn. A turn that asks for more ends."""
    max_rounds: int = Field(default=16, gt=0)
    """Requests of one turn, not counting repetitions. A turn that needs more ends."""
    timeout: _Seconds = 120.0
    """For one request, from its start to the end of the answer."""
    silence: _Seconds = 60.0
    """How long the endpoint may send nothing at all."""
    turn_timeout: _Seconds = 600.0
    """For the whole turn, with its tools, repeated requests and waits between them."""
    retries: int = Field(default=2, ge=0)
    """How often a request is repeated that failed for the moment: no connection, 408, 409, 429, 5xx, an answer that
    broke off. Nothing that a model said in it has had an effect."""
    retry_wait: Duration = 1.0
    """Before the first repetition; doubled before each further one. The endpoint may ask for more."""
    max_retry_wait: Duration = 30.0
    """The longest wait. An endpoint that asks for more is not asked again in this turn."""

    @field_validator("base_url")
    @classmethod
    def _is_address(cls, text: str) -> str:
        address = text.strip().rstrip("/")
        try:
            parts = urlsplit(address)
            whole = bool(parts.hostname) and (parts.port is None or parts.port > 0)
        except ValueError:
            whole = False
            parts = None
        if parts is None or not whole or parts.scheme not in ("http", "https"):
            raise ValueError("expected an address such as https://api.openai.com/v1 or http://127.0.0.1:11434/v1")
        if parts.username is not None or parts.query or parts.fragment:
            raise ValueError("the address has a user, a query or a fragment; a key belongs into `api_key`")
        return address.removesuffix("/chat/completions")

    @field_validator("options")
    @classmethod
    def _are_others(cls, options: dict[str, Any]) -> dict[str, Any]:
        for name in _OWN:
            if name in options:
                said = "has a setting of its own here" if name in cls.model_fields else "is set by the agent"
                raise ValueError(f"`{name}` {said}; `options` is for other fields of the request")
        return options
