"""What a recorded model was really asked: the marks of a prompt, without those that only the gateway put there.

The model of such a recording was not always careful: it answered questions that were in a part of the prompt that the
gateway had added, or that the prompt asked it to leave. What it then said looks like a second answer, and is none.
"""

import re

import msgspec

from trunkline.sim.attach.profile import GatewayProfile
from trunkline.sim.index.marks import questions_in

#: of long prompts the last 400 were recorded, later the last 700: an end of so many hundreds may be cut
_HUNDRED = 100
#: what stands for anything in the pattern of a part
_ANYTHING = ".*?"
#: the opening and the end of a context block, of which a tail may have the end only
_BLOCK_END = re.compile(r"\A(?:(?!<<<BEGIN_).)*?<<<END_\w+>>>", re.DOTALL)
#: a context block that goes on to the end of the tail, or was never closed
_CONTEXT = re.compile(r"<<<BEGIN_\w+>>>.*?(?:<<<END_\w+>>>|\Z)", re.DOTALL)


class PromptReader:
    """Reads the prompts of one gateway. `profile`: what it is known to add; none: nothing is."""

    def __init__(self, profile: GatewayProfile | None) -> None:
        ignore = () if profile is None else profile.ignore
        obey = () if profile is None else profile.obey
        self._ignore = [re.compile(one, re.DOTALL) for one in ignore]
        self._obey = [re.compile(one.part, re.DOTALL) for one in obey]
        #: what such a part ends with, of those of which a tail may have the end only
        ends = [one.part.rpartition(_ANYTHING)[2] for one in obey if _ANYTHING in one.part]
        self._obey_ends = [re.compile(one, re.DOTALL) for one in ends]

    def marks(self, recorded: list[str], tail: str, *, answered: set[str], waiting: list[str]) -> tuple[str, ...]:
        """The marks of what people said, by those that were recorded for a prompt and by its end.

        `answered`: marks that the model has answered before. `waiting`: those that it was never asked, in order.
        """
        parts = self._obey if len(tail) % _HUNDRED else [*self._obey, *self._obey_ends]
        end = max((found.end() for one in parts for found in one.finditer(tail)), default=None)
        if end is not None:
            return questions_in(tail[end:])
        outside = questions_in(self._without_added(tail))
        if len(tail) % _HUNDRED:
            return outside
        inside = [mark for mark in questions_in(tail) if mark not in outside]
        # Before the end there may be what people said: a mark in the context is theirs, unless it was answered before.
        kept = [mark for mark in recorded if mark not in inside or mark not in answered]
        if recorded and not kept and not outside:
            kept = waiting[-1:] or recorded
        return tuple(dict.fromkeys((*(mark for mark in kept if mark not in outside), *outside)))

    def _without_added(self, tail: str) -> str:
        """The tail without what the gateway is known to add, even if it begins in the middle of that."""
        text = tail
        for pattern in self._ignore:
            text = pattern.sub("", text)
        if self._ignore:
            text = _CONTEXT.sub("", _BLOCK_END.sub("", text))
        return text


class RecordedPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """What a line says of a request to the model, which in older recordings is less."""

    #: it is a turn, and no request beside it; none: it is, if it has tools
    main: bool | None = None
    #: the questions that the model found; none: it was recorded only which it answers
    marks: list[str] | None = None
    answers: list[str] = []
    stream: bool = False
    #: their number; none: it was not recorded
    tools: int | None = None
    tail: str = ""
