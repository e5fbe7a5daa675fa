"""A server that speaks OpenAI's chat completions and plays a script: for tests of whoever asks a model."""

from tests.support.model_server.replies import (
    Break,
    Hang,
    Reply,
    Send,
    Wait,
    ends_early,
    events,
    fails,
    pieces_of,
    says,
    says_at_once,
    tool_call,
    wants,
)
from tests.support.model_server.server import Asked, ModelServer, model_server

__all__ = [
    "Asked",
    "Break",
    "Hang",
    "ModelServer",
    "Reply",
    "Send",
    "Wait",
    "ends_early",
    "events",
    "fails",
    "model_server",
    "pieces_of",
    "says",
    "says_at_once",
    "tool_call",
    "wants",
]
