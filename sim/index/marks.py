"""Marks: how an answer is known to belong to a question, without any id of the gateway.

Each question of a person ends in a mark of its own, ``QZm1``. The scripted model answers ``AZm1-g1``; when it is asked
the same again, ``AZm1-g2``. So the same generation twice is a message that was sent twice, and two generations are two
turns.
"""

import re
import unicodedata
from collections.abc import Iterable

import msgspec

#: what people do not see of a text: marks of Markdown and tags, and the targets of links
_LINK, _MARKUP = re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)"), re.compile(r"</?[a-z][^<>]*>|[*_~`#>|\\]", re.IGNORECASE)
_QUESTION = re.compile(r"QZ([a-z0-9]+)")
_ANSWER = re.compile(r"AZ([a-z0-9]+)-g(\d+)")
_WITH_SPACE = re.compile(r" ?(?:AZ[a-z0-9]+-g\d+|QZ[a-z0-9]+)")


class AnswerMark(msgspec.Struct, frozen=True, order=True):
    """The mark of an answer: its question, and its generation, which counts the answers of the model to it from 1."""

    question: str
    generation: int


def shown_words(text: str) -> str:
    """A text as the judge compares it with another: without markup, and without anything that has no ink."""
    bare = _MARKUP.sub("", _LINK.sub(r"\1", unicodedata.normalize("NFC", text)))
    return "".join(sign for sign in bare if not sign.isspace() and unicodedata.category(sign) != "Cf")


def mark_of(name: str) -> str:
    """The mark of a message by its name in the scenario. Two names may have the same one; see `unique_marks`."""
    return re.sub(r"[^a-z0-9]", "", name.lower()) or "q"


def unique_marks(names: Iterable[str]) -> dict[str, str]:
    """Name -> mark, no two alike."""
    found: dict[str, str] = {}
    for name in names:
        mark, number = mark_of(name), 1
        while mark in found.values():
            number += 1
            mark = f"{mark_of(name)}x{number}"
        found[name] = mark
    return found


#: how the mark begins by which the asker of a question writes once more, because nothing came; the rest is its mark
_NUDGE = "again"


def nudge_mark(question: str) -> str:
    """The mark of what the asker of a question writes once more, if nothing comes."""
    return f"{_NUDGE}{question}"


def nudged_mark(mark: str) -> str:
    """The question of which a mark may be that of the asker's next message; empty for none."""
    return mark.removeprefix(_NUDGE) if mark.startswith(_NUDGE) else ""


def question_text(text: str, mark: str) -> str:
    return f"{text} QZ{mark}"


def answer_text(text: str, marks: Iterable[AnswerMark]) -> str:
    return " ".join([text, *(f"AZ{mark.question}-g{mark.generation}" for mark in marks)]).strip()


def questions_in(text: str) -> tuple[str, ...]:
    """The marks of questions in a text, in order, each once."""
    return tuple(dict.fromkeys(_QUESTION.findall(text)))


def answers_in(text: str) -> tuple[AnswerMark, ...]:
    """The marks of answers in a text as people see it, in order, each once. Backslashes of Markdown do not count."""
    found = _ANSWER.findall(text.replace("\\", ""))
    return tuple(dict.fromkeys(AnswerMark(name, int(number)) for name, number in found))


def without_marks(text: str) -> str:
    """A text without marks of questions and answers, as a scenario has it."""
    return _WITH_SPACE.sub("", text.replace("\\", "")).strip()
