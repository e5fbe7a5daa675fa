"""Replies of a scripted model, as values: bytes, waits and breaks in the order in which they go over the wire."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

EVENTS = "text/event-stream; charset=utf-8"
JSON = "application/json"
DONE = b"data: [DONE]\n\n"


class Send(msgspec.Struct, frozen=True):
    """Bytes of the body."""

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
    """A piece of a streamed answer."""
    choice = {"index": 0, "delta": dict(delta), "finish_reason": finish}
    return {"id": "c-1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice], **beside}


def event(value: object) -> bytes:
    """A value as a server-sent event."""
    return f"data: {json.dumps(value)}\n\n".encode()


def events(*values: object, wait: float = 0.0, done: bool = True) -> ModelReply:
    """A stream of pieces, with a wait before each."""
    steps: list[Step] = []
    for value in values:
        steps += [*([Wait(wait)] if wait else []), Send(event(value))]
    return ModelReply(steps=(*steps, *([Send(DONE)] if done else [])))


def pieces_of(text: str, size: int = 7) -> list[str]:
    """A text in pieces."""
    return [text[at : at + size] for at in range(0, len(text), size)]


def says(text: str, *, finish: str = "stop", wait: float = 0.0, refusal: str = "", size: int = 7) -> ModelReply:
    """A streamed answer. `wait`: seconds before each piece, of `size` characters."""
    said = [piece({"content": part}) for part in pieces_of(text, size)] + [
        piece({"refusal": part}) for part in pieces_of(refusal)
    ]
    start = piece({"role": "assistant", "content": ""})
    usage = {"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16}
    return events(start, *said, piece({}, finish), {"choices": [], "usage": usage}, wait=wait)


def ends_early(text: str, how: Step | None = None, *, stream: bool = True) -> ModelReply:
    """An answer that stops in the middle: properly closed without a finish reason, or as `how` says."""
    if not stream:
        half = (
            b'{"id": "c-1", "object": "chat.completion", "choices": [{"message": {"content": '
            + json.dumps(text).encode()
        )
        return ModelReply(kind=JSON, steps=(Send(half), *([] if how is None else [how])))
    steps: list[Step] = [Send(event(piece({"content": part}))) for part in pieces_of(text)]
    return ModelReply(steps=(*steps, *([] if how is None else [how])))


def never_answers() -> ModelReply:
    """No answer: the connection stays open until the client closes it."""
    return ModelReply(before=math.inf)


def resets() -> ModelReply:
    """No answer: the connection is reset."""
    return ModelReply(status=0)


def says_at_once(text: str, **message: Any) -> ModelReply:
    """A whole answer as one JSON value, as from an endpoint that does not stream."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text, **message}, "finish_reason": "stop"}
    body = {"id": "c-1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    return ModelReply(kind=JSON, steps=(Send(json.dumps(body).encode()),))


def tool_call(name: str, arguments: object = None, *, id: str = "", index: int = 0) -> dict[str, Any]:  # noqa: A002
    """A tool call; `arguments` as JSON, or a text as it is."""
    text = arguments if isinstance(arguments, str) else json.dumps({} if arguments is None else arguments)
    call = {"index": index, "type": "function", "function": {"name": name, "arguments": text}}
    return {**call, "id": id or f"id-{index}"}


def wants(*calls: Mapping[str, Any], text: str = "", finish: str = "tool_calls", numbered: bool = True) -> ModelReply:
    """A streamed answer with tool calls, whose arguments come in pieces. `numbered`: each gets its own index."""
    found: list[dict[str, Any]] = [piece({"content": text})] if text else []
    for number, call in enumerate(calls):
        own: dict[str, Any] = {**call, "index": number} if numbered else dict(call)
        function: Mapping[str, Any] = own["function"]
        if numbered and own["id"] == "id-0":
            own["id"] = f"id-{number}"
        found.append(piece({"tool_calls": [{**own, "function": {**function, "arguments": ""}}]}))
        for part in pieces_of(function["arguments"], 11):
            found.append(piece({"tool_calls": [{"index": own["index"], "function": {"arguments": part}}]}))
    return events(*found, piece({}, finish))


def wants_at_once(*calls: Mapping[str, Any], text: str = "") -> ModelReply:
    """A whole answer with tool calls as one JSON value."""
    given = [{key: value for key, value in call.items() if key != "index"} for call in calls]
    message = {"role": "assistant", "content": text or None, "tool_calls": given}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    body = {"id": "c-1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    return ModelReply(kind=JSON, steps=(Send(json.dumps(body).encode()),))


def fails(
    status: int, message: str = "it failed", *, code: str | None = None, headers: Iterable[tuple[str, str]] = ()
) -> ModelReply:
    """An error as OpenAI reports it."""
    body = json.dumps({"error": {"message": message, "type": "error", "param": None, "code": code}}).encode()
    return ModelReply(status=status, kind=JSON, headers=tuple(headers), steps=(Send(body),))


def raw(body: bytes, kind: str = EVENTS, *, status: int = 200, size: int = 0) -> ModelReply:
    """A reply of the given bytes, in pieces of a size."""
    parts: Sequence[bytes] = [body[at : at + size] for at in range(0, len(body), size)] if size else [body]
    return ModelReply(status=status, kind=kind, steps=tuple(Send(part) for part in parts))


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
