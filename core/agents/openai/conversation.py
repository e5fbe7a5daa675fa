"""The messages to a model: system prompts, earlier messages, and the message of the turn. Pure.

In a direct chat a person's messages are sent as they are. Where several people write, each message begins with its
author, and every further line of it is indented, so that no text can pass for a message of somebody else.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

import msgspec

from trunkline.core.delivery.notes import MAY_NOT_HAVE_ARRIVED
from trunkline.core.hands.callback_message import as_data, one_line
from trunkline.core.records.messages import NOTE
from trunkline.core.values import Peer, TranscriptLine

Message = dict[str, Any]
#: between messages of one side that follow each other: many models want the sides to alternate
_BETWEEN = "\n\n"
_PLAIN_ID = re.compile(r"[\w.@:+/-]+")
#: bytes of UTF-8 that count as one token; most models need fewer tokens
_BYTES = 3
#: tokens of a message beside its text
_FRAME = 8
#: whatever a model may read as the end of a line
_LINE_END = re.compile(r"\r\n|[\n\r\v\f\x85\u2028\u2029]")
_INDENTED = "\n  "
_NOTE = "[note of the gateway]"
_AGAIN = (
    f"{_NOTE} This turn was interrupted and runs again. What follows was done before the interruption. Do not do it"
    " again."
)
#: people may have read it: a model that only knows of the doubt answers once more
_NOT_AGAIN = "Do not say it again unless you are asked to."
_DELETED = "[this message was deleted]"
_PARTIAL = "[only this part of the message arrived]"


class TurnFacts(msgspec.Struct, frozen=True, kw_only=True):
    #: the id of the line of its message in the transcript
    ref: str
    #: the system prompts as one text
    prompt: str | None
    #: the message as a model is given it
    text: str
    #: its author; None: nobody who has to be named
    author: Peer | None
    #: several people write here
    is_shared: bool
    history: Sequence[TranscriptLine]
    #: what earlier runs of the turn, which were interrupted, have done already
    done: Sequence[str] = ()


class PastExchange(msgspec.Struct, frozen=True):
    messages: tuple[Message, ...]
    tokens: int


def tokens_of(value: object) -> int:
    """The estimated tokens of a text, or of a value as JSON."""
    if isinstance(value, str):
        return -(-len(value.encode("utf-8", "replace")) // _BYTES) + _FRAME
    return -(-len(msgspec.json.encode(value)) // _BYTES) + _FRAME


def system_messages(facts: TurnFacts) -> list[Message]:
    """The system prompts: a single message, because the templates of many models allow no second."""
    return [] if facts.prompt is None else [{"role": "system", "content": facts.prompt}]


def own_message(facts: TurnFacts) -> Message:
    """The message of the turn; in a repeated run, with the work of an earlier run."""
    author = facts.author if facts.is_shared else None
    parts = [facts.text if author is None else said_by(author, facts.text)]
    if facts.done:
        parts.append("\n".join([_AGAIN, *facts.done]))
    return {"role": "user", "content": _BETWEEN.join(parts)}


def _is_own(line: TranscriptLine, facts: TurnFacts) -> bool:
    """Whether a line is the turn's own message, or a message sent by the turn."""
    return line.ref == facts.ref or line.ref.startswith(f"{facts.ref}.")


def exchanges_of(facts: TurnFacts) -> list[PastExchange]:
    """The earlier exchanges, oldest first.

    Behind the line of the turn itself only what was sent, or did not arrive, counts: messages of people that stand
    there have turns of their own.
    """
    found: list[list[Message]] = []
    is_behind = False
    for line in facts.history:
        if _is_own(line, facts):
            is_behind = True
            continue
        message = _message_of(line, facts)
        if is_behind and line.role not in ("assistant", NOTE):
            continue
        if not found or (message["role"] == "user" and found[-1][-1]["role"] == "assistant"):
            found.append([])
        _join(found[-1], message)
    return [PastExchange(tuple(exchange), sum(tokens_of(each["content"]) for each in exchange)) for exchange in found]


def fitting(exchanges: Sequence[PastExchange], limit: int) -> list[Message]:
    """The newest exchanges within a number of tokens. No exchange is cut: a half exchange misleads."""
    kept = len(exchanges)
    left = limit
    while kept and exchanges[kept - 1].tokens <= left:
        kept -= 1
        left -= exchanges[kept].tokens
    return [message for exchange in exchanges[kept:] for message in exchange.messages]


def composed(facts: TurnFacts, before: Sequence[Message]) -> list[Message]:
    """All messages of a first request, in order."""
    messages = [*system_messages(facts)]
    for message in (*before, own_message(facts)):
        _join(messages, message)
    return messages


def said_by(author: Peer, text: str) -> str:
    """A message with the author, where several people write."""
    return f"{_name_of(author)}: {_LINE_END.sub(_INDENTED, text)}"


def _name_of(author: Peer) -> str:
    """A person on a line. The name is quoted, as a name may contain anything, such as the name and id of another."""
    known = one_line(author.id)
    shown = known if _PLAIN_ID.fullmatch(known) else json.dumps(known, ensure_ascii=False)
    return f"{json.dumps(one_line(author.name), ensure_ascii=False)} ({shown})" if author.name.strip() else f"({shown})"


def _message_of(line: TranscriptLine, facts: TurnFacts) -> Message:
    text = _DELETED if line.deleted else line.text
    if line.role == "assistant":
        return {"role": "assistant", "content": f"{text}\n{_PARTIAL}" if line.partial and not line.deleted else text}
    if line.role == NOTE:
        again = f" {_NOT_AGAIN}" if MAY_NOT_HAVE_ARRIVED in text else ""
        return {"role": "user", "content": f"{_NOTE} {' '.join(text.split())}{again}"}
    if line.role == "hand":
        name = "a hand" if line.by is None else one_line(line.by.name)
        return {"role": "user", "content": f"{name} wrote:\n{as_data(text)}"}
    if facts.is_shared and line.by is not None:
        return {"role": "user", "content": said_by(line.by, text)}
    return {"role": "user", "content": text}


def _join(messages: list[Message], message: Message) -> None:
    """Append a message, or add the text to the last message of the same side."""
    if messages and messages[-1]["role"] == message["role"]:
        messages[-1] = {**messages[-1], "content": f"{messages[-1]['content']}{_BETWEEN}{message['content']}"}
    else:
        messages.append(message)
