"""The answer of a model, assembled from pieces, and judged when complete."""

from typing import Any, cast

import msgspec

from trunkline.core.agents.usage import ModelUsage, usage_of
from trunkline.core.errors import AgentFailed
from trunkline.core.reasons import Reason
from trunkline.core.untrusted import check_ids
from trunkline.core.well_formed import decode_json, well_formed, well_formed_json

#: characters that a tool call counts beside its arguments, so that empty calls have an end too
_CALL = 32
#: characters of what the endpoint says that are quoted
QUOTED = 200


class ModelCall(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A tool call as written by the model, unchecked."""

    id: str
    name: str
    #: JSON, if the model did as it should
    arguments: str


class ModelAnswer(msgspec.Struct, frozen=True, kw_only=True):
    text: str
    calls: tuple[ModelCall, ...] = ()
    usage: ModelUsage = ModelUsage(answers=1)


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: str | dict[str, Any] | None = None


class _Call(msgspec.Struct):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None

    def __post_init__(self) -> None:
        check_ids(self, "id")


class _TextPart(msgspec.Struct, gc=False):
    text: str | None = None


class _Said(msgspec.Struct):
    content: str | list[_TextPart] | None = None
    refusal: str | None = None
    tool_calls: list[_Call] | None = None


class _Choice(msgspec.Struct):
    index: int | None = 0
    #: a piece of the answer
    delta: _Said | None = None
    #: the whole answer, if it does not come in pieces
    message: _Said | None = None
    finish_reason: str | None = None


class _Piece(msgspec.Struct):
    choices: list[_Choice] | None = None
    usage: Any = None
    error: Any = None


class _OpenCall:
    __slots__ = ("arguments", "id", "index", "name")

    def __init__(self, index: int | None) -> None:
        self.index = index
        self.id = ""
        self.name = ""
        self.arguments: list[str] = []


_decode = msgspec.json.Decoder(_Piece).decode


class EndpointError(Exception):
    """The endpoint reported an error in the middle of an answer; the text is the endpoint's."""


class AnswerReader:
    """Takes the pieces of an answer, and returns the answer.

    However a model's text is cut into pieces, the answer is the same. `limit`: characters that it may have.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.length = 0
        self._text: list[str] = []
        self._refusal: list[str] = []
        self._calls: list[_OpenCall] = []
        self._finish = ""
        self._usage: object = None

    def add(self, data: str | bytes) -> None:
        """Take a piece, as JSON.

        Raises `AgentFailed` for what is no piece of an answer, or too long, and `EndpointError` if the endpoint says
        that something went wrong.
        """
        try:
            piece = decode_json(_decode, data)
        except (ValueError, RecursionError) as error:
            # The error names a place in the piece, and quotes nothing of it.
            raise AgentFailed(f"the endpoint sent what is no piece of an answer: {error}", Reason.BAD_ANSWER) from None
        if piece.error is not None:
            raise EndpointError(words_of_error(piece.error))
        self._usage = piece.usage or self._usage
        for choice in piece.choices or ():
            if choice.index:
                continue
            said = choice.delta or choice.message
            if said is not None:
                self._take(said)
            self._finish = choice.finish_reason or self._finish

    def _take(self, said: _Said) -> None:
        content = said.content
        if isinstance(content, list):
            content = "".join(part.text or "" for part in content)
        self._grow(self._text, content)
        self._grow(self._refusal, said.refusal)
        for call in said.tool_calls or ():
            open_call, function = self._call_of(call), call.function or _Function()
            open_call.id = open_call.id or call.id or ""
            open_call.name = open_call.name or function.name or ""
            arguments = function.arguments
            if isinstance(arguments, dict):
                arguments = msgspec.json.encode(arguments).decode()
            self._grow(open_call.arguments, arguments)

    def _grow(self, parts: list[str], text: str | None, more: int = 0) -> None:
        self.length += len(text or "") + more
        if self.length > self._limit:
            raise AgentFailed(f"the model wrote more than {self._limit} characters", Reason.ANSWER_TOO_LONG)
        if text:
            parts.append(text)

    def _call_of(self, call: _Call) -> _OpenCall:
        """The open call of a piece.

        Most endpoints number their calls. Some leave the number out, and some give every call the same number: there a
        call with another id, or without a number with another name, is another call.
        """
        number = call.index
        known = self._calls if number is None else [open_call for open_call in self._calls if open_call.index == number]
        if known:
            last, named = known[-1], call.function is not None and bool(call.function.name)
            is_other = bool(call.id) and last.id not in ("", call.id)
            if not is_other and not (number is None and named and last.name):
                return last
        new = _OpenCall(call.index)
        self._grow(new.arguments, None, _CALL)
        self._calls.append(new)
        return new

    def done(self) -> ModelAnswer:
        """The whole answer. Raises `AgentFailed` for an answer which broke off, was refused, or was cut."""
        refusal = "".join(self._refusal)
        if self._finish == "content_filter":
            raise AgentFailed("the endpoint's content filter ended the answer", Reason.AGENT_REFUSED)
        if refusal.strip():
            raise AgentFailed(f"the model said: {quoted(refusal)}", Reason.AGENT_REFUSED)
        if self._finish == "length":
            facts = f"the endpoint cut the answer after {self.length} characters, at its own limit or `max_tokens`"
            raise AgentFailed(facts, Reason.ANSWER_TOO_LONG)
        if not self._finish:
            raise AgentFailed(f"the answer broke off after {self.length} characters", Reason.AGENT_BROKE_OFF)
        return ModelAnswer(
            text=well_formed("".join(self._text)), calls=_distinct(self._calls), usage=usage_of(self._usage)
        )


def _distinct(found: list[_OpenCall]) -> tuple[ModelCall, ...]:
    used: set[str] = set()
    calls: list[ModelCall] = []
    for number, call in enumerate(found, 1):
        name = well_formed(call.id)
        while not name or name in used:
            name = f"call-{number}" if not name else f"{name}-{number}"
        used.add(name)
        # JSON in a text of JSON, whose half characters are escaped twice.
        arguments = well_formed_json("".join(call.arguments)).decode()
        calls.append(ModelCall(id=name, name=well_formed(call.name), arguments=arguments))
    return tuple(calls)


def words_of_error(error: object) -> str:
    """The words of an endpoint's error, as far as there is text."""
    if not isinstance(error, dict):
        return error if isinstance(error, str) else ""
    found = cast("dict[str, object]", error)
    said = found.get("message") or found.get("detail") or found.get("error") or found.get("code")
    return words_of_error(said)


def quoted(text: str) -> str:
    """The beginning of untrusted text, on a single line."""
    shown = " ".join("".join(character if character.isprintable() else " " for character in text[: QUOTED * 4]).split())
    return well_formed(shown if len(shown) <= QUOTED else f"{shown[:QUOTED]}...")
