"""Parts of answers: what the model said, in messages that do not have its mark. Of runs known by their wire only."""

from bisect import bisect_right, insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate

import msgspec

from trunkline.core.events import Event
from trunkline.sim.events import model, wire
from trunkline.sim.index.asked_places import Lane
from trunkline.sim.index.bot_messages import BotMessage, BotMessages, accepted_at, letters
from trunkline.sim.index.text_index import HeldTexts, TextIndex

#: an answer that was recorded in part ends so
CUT = "…"
#: letters from which on the words of an answer are no chance
PART = 40
#: so many times these letters in a row that nobody sees are missing; fewer may be markup that looks different
_MISSING = 3


class ModelTurn(msgspec.Struct):
    """A request to the model that is no request beside a turn."""

    event: Event
    body: model.ModelAsked
    answered: Event | None = None

    @property
    def last(self) -> str:
        """The mark of what was said last; empty: nobody asked anything."""
        return self.body.marks[-1] if self.body.marks else ""

    @property
    def answer(self) -> str:
        """The answer of the model; empty: nothing yet, or a failure."""
        body = None if self.answered is None else self.answered.body
        return body.text if isinstance(body, model.ModelAnswered) and body.status == 200 else ""


class ModelAnswers:
    """The answers of turns, found by what messages show of them."""

    def __init__(self) -> None:
        self.turns: list[ModelTurn] = []
        #: how many answers there were
        self.changes = 0
        #: the letters of what each turn said last, by the number of the turn
        self.index = TextIndex()
        #: of answers that were recorded in part: what was recorded -> the turns, and how long such texts are
        self._cut: dict[str, list[int]] = {}
        self._cut_sizes: set[int] = set()
        self._cut_by_mark: dict[str, list[int]] = {}
        self._numbers: dict[int, int] = {}

    def ask(self, turn: ModelTurn) -> None:
        self._numbers[turn.event.seq] = len(self.turns)
        self.turns.append(turn)

    def answer(self, turn: ModelTurn) -> None:
        """The model has answered, or answers again."""
        number, said = self._numbers[turn.event.seq], letters(turn.answer)
        self.changes += 1
        self.index.add(number, said)
        if turn.answer.endswith(CUT):
            insort(self._cut_by_mark.setdefault(turn.last, []), number)
            if said:
                insort(self._cut.setdefault(said, []), number)
                self._cut_sizes.add(len(said))

    def with_part(self, part: str) -> Iterator[ModelTurn]:
        """The turns in whose answers some letters are, in order."""
        return (self.turns[number] for number in self.index.holding(part))

    def of(self, message: BotMessage, messages: BotMessages) -> Iterator[ModelTurn]:
        """The turns of whose answers a message without a mark may be a part, in order: some have the same words."""
        text, found = letters(message.text), False
        if not text:
            return
        for number in self._holding_or_beginning(text):
            turn = self.turns[number]
            if turn.event.seq >= message.accepted.seq:
                break
            found = True
            yield turn
        cut = None if found else self._rest_of_a_cut_answer(messages.marked_before(message))
        if cut is not None:
            yield cut

    def _holding_or_beginning(self, text: str) -> Iterable[int]:
        """The turns whose answers hold a text, or were recorded in part and begin it: it may have more of them."""
        holding = self.index.holding(text)
        sizes = [size for size in self._cut_sizes if size < len(text)]
        begun = {number for size in sizes for number in self._cut.get(text[:size], ())}
        begun = {number for number in begun if self.turns[number].answer.endswith(CUT)}
        begun = {number for number in begun if text.startswith(self.index.texts[number])}
        return sorted({*holding, *begun}) if begun else holding

    def _rest_of_a_cut_answer(self, before: BotMessage | None) -> ModelTurn | None:
        """The turn whose answer is going on after a message, if only the beginning of that answer was recorded."""
        marks = () if before is None else {mark.question for mark in before.marks}
        numbers = (number for mark in marks for number in self._cut_by_mark.get(mark, ()))
        cut = (number for number in numbers if self.turns[number].answer.endswith(CUT))
        return next((self.turns[number] for number in sorted(cut)), None)


def is_part_missing(answer: str, seen: str, first: int) -> bool:
    """Whether a part of an answer is not in the letters that people see from one place on."""
    whole, missing = letters(answer), 0
    for at in range(0, len(whole) - PART + 1, PART):
        missing = 0 if seen.find(whole[at : at + PART], first) >= 0 else missing + 1
        if missing == _MISSING:
            return True
    return False


class StandingMessages:
    """Finds what stands in which place by its words."""

    def __init__(self, messages: BotMessages) -> None:
        self.changes = messages.changes
        self.all = [message for message in messages.all if message.deleted is None]
        #: their letters, one after the other, and where those of each begin
        self._letters = [letters(message.text) for message in self.all]
        self._seen = "".join(self._letters)
        self._starts = list(accumulate(map(len, self._letters), initial=0))
        bodies = [(message.accepted.seq, message.accepted.body) for message in self.all]
        self._last_file = max(
            (seq for seq, body in bodies if isinstance(body, wire.WireAccepted) and body.media), default=-1
        )
        self._holding: dict[Lane, TextIndex] = {}
        self._held: dict[Lane, HeldTexts[BotMessage]] = {}
        for number, message in enumerate(self.all):
            self._holding.setdefault(message.address.lane, TextIndex()).add(number, self._letters[number])
            self._held.setdefault(message.address.lane, HeldTexts()).add(self._letters[number], message)

    def with_part(self, part: str, lane: Lane) -> Sequence[BotMessage]:
        """The messages of a place in which some letters are, in order."""
        return [self.all[number] for number in self._holding[lane].holding(part)]

    def parts_of(self, turn: ModelTurn, lane: Lane) -> Mapping[str, Sequence[BotMessage]]:
        """The texts in a place that are parts of the answer of a turn, each with its messages, in order."""
        held = self._held.get(lane)
        return {} if held is None else dict(held.held_by(letters(turn.answer)))

    def lacks_part_of(self, turn: ModelTurn) -> bool:
        """Whether a part of the answer of a turn is in no message after it. A file may have it."""
        if self._last_file > turn.event.seq:
            return False
        first = bisect_right(self.all, turn.event.seq, key=accepted_at)
        return is_part_missing(turn.answer, self._seen, self._starts[first])
