"""Replies of a scripted model, as values: bytes, waits and breaks in the order in which they go over the wire."""

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

EVENTS = "text/event-stream; charset=utf-8"
JSON = "application/json"
DONE = b"data: [DONE]\n\n"


class Send(msgspec.Struct, frozen=True):
    data: bytes


class Wait(msgspec.Struct, frozen=True):
    """Send nothing for so many seconds."""

    seconds: float


class Break(msgspec.Struct, frozen=True):
    """Close the connection in the middle of the body."""


class Hang(msgspec.Struct, frozen=True):
    """Send nothing any more, and keep the connection open until the client closes it."""


Step = Send | Wait | Break | Hang


class ModelReply(msgspec.Struct, frozen=True, kw_only=True):
    """A reply. `kind`: its content type. `before`: seconds until its status and headers.

    The status 0 is none: the connection is reset before a response.
    """

    status: int = 200
    kind: str = EVENTS
    headers: tuple[tuple[str, str], ...] = ()
    steps: tuple[Step, ...] = ()
    before: float = 0.0


def piece(delta: Mapping[str, Any], finish: str | None = None, **beside: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": dict(delta), "finish_reason": finish}
    return {"id": "c-1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice], **beside}


def event(value: object) -> bytes:
    return f"data: {json.dumps(value)}\n\n".encode()


def events(*values: object, wait: float = 0.0) -> ModelReply:
    """A stream of pieces, with a wait before each."""
    steps: list[Step] = []
    for value in values:
        steps += [*([Wait(wait)] if wait else []), Send(event(value))]
    return ModelReply(steps=(*steps, Send(DONE)))


def pieces_of(text: str, size: int = 7) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def says(text: str, *, wait: float = 0.0, size: int = 7) -> ModelReply:
    """A streamed answer. `wait`: seconds before each piece, of `size` characters."""
    said = [piece({"content": part}) for part in pieces_of(text, size)]
    start = piece({"role": "assistant", "content": ""})
    usage = {"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16}
    return events(start, *said, piece({}, "stop"), {"choices": [], "usage": usage}, wait=wait)


def ends_early(text: str, how: Step | None = None, *, stream: bool = True) -> ModelReply:
    """An answer that stops in the middle: properly closed without a finish reason, or as `how` says."""
    end = () if how is None else (how,)
    if not stream:
        half = '{"id": "c-1", "object": "chat.completion", "choices": [{"message": {"content": ' + json.dumps(text)
        return ModelReply(kind=JSON, steps=(Send(half.encode()), *end))
    return ModelReply(steps=(*(Send(event(piece({"content": part}))) for part in pieces_of(text)), *end))


def never_answers() -> ModelReply:
    """No answer: the connection stays open until the client closes it."""
    return ModelReply(before=math.inf)


def resets() -> ModelReply:
    """No answer: the connection is reset."""
    return ModelReply(status=0)


def says_at_once(text: str) -> ModelReply:
    """A whole answer as one JSON value, as from an endpoint that does not stream."""
    return _at_once({"role": "assistant", "content": text}, "stop")


def _at_once(message: Mapping[str, Any], finish: str) -> ModelReply:
    choice = {"index": 0, "message": message, "finish_reason": finish}
    body = {"id": "c-1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    return ModelReply(kind=JSON, steps=(Send(json.dumps(body).encode()),))


def tool_call(name: str, arguments: object = None, *, index: int = 0) -> dict[str, Any]:
    """A tool call; `arguments` as JSON, or a text as it is."""
    text = arguments if isinstance(arguments, str) else json.dumps({} if arguments is None else arguments)
    function = {"name": name, "arguments": text}
    return {"index": index, "type": "function", "function": function, "id": f"id-{index}"}


def wants(*calls: Mapping[str, Any], text: str = "") -> ModelReply:
    """A streamed answer with tool calls, whose arguments come in pieces."""
    found: list[dict[str, Any]] = [piece({"content": text})] if text else []
    for number, call in enumerate(calls):
        own: dict[str, Any] = {**call, "index": number}
        if own["id"] == "id-0":
            own["id"] = f"id-{number}"
        found.append(piece({"tool_calls": [{**own, "function": {**own["function"], "arguments": ""}}]}))
        for part in pieces_of(own["function"]["arguments"], 11):
            found.append(piece({"tool_calls": [{"index": number, "function": {"arguments": part}}]}))
    return events(*found, piece({}, "tool_calls"))


def wants_at_once(*calls: Mapping[str, Any], text: str = "") -> ModelReply:
    """A whole answer with tool calls as one JSON value."""
    given = [{key: value for key, value in call.items() if key != "index"} for call in calls]
    return _at_once({"role": "assistant", "content": text or None, "tool_calls": given}, "tool_calls")


def fails(
    status: int, message: str = "it failed", *, code: str | None = None, headers: Iterable[tuple[str, str]] = ()
) -> ModelReply:
    """An error as OpenAI reports it."""
    body = json.dumps({"error": {"message": message, "type": "error", "param": None, "code": code}}).encode()
    return ModelReply(status=status, kind=JSON, headers=tuple(headers), steps=(Send(body),))


def text_said(reply: ModelReply) -> str:
    """The text of a reply, whole or streamed; of a failure its message."""
    body = b"".join(step.data for step in reply.steps if isinstance(step, Send)).decode("utf-8", "replace")
    values = [body] if reply.kind == JSON else [line[6:] for line in body.splitlines() if line.startswith("data: {")]
    found: list[str] = []
    for value in values:
        try:
            whole = msgspec.json.decode(value, type=_Whole)
        except msgspec.MsgspecError:
            continue
        found += [choice.message.content or choice.delta.content or "" for choice in whole.choices]
        found += [] if whole.error is None else [whole.error.message]
    return "".join(found)


class _Said(msgspec.Struct, frozen=True):
    content: str | None = None


class _Choice(msgspec.Struct, frozen=True):
    delta: _Said = _Said()
    message: _Said = _Said()


class _Error(msgspec.Struct, frozen=True):
    message: str = ""


class _Whole(msgspec.Struct, frozen=True):
    choices: list[_Choice] = []
    error: _Error | None = None
