"""Parts of answers: what the model said, in messages that do not have its mark. Of runs known by their wire only."""

from bisect import bisect_right, insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Generic, TypeVar

from trunkline.core.events import Event
from trunkline.sim.events import model, wire
from trunkline.sim.index.asked_places import Lane
from trunkline.sim.index.bot_messages import BotMessage, BotMessages, accepted_at, letters

#: an answer that was recorded in part ends so
CUT = "…"
#: letters from which on the words of an answer are no chance
PART = 40
#: so many times these letters in a row that nobody sees are missing; fewer may be markup that looks different
_MISSING = 3


@dataclass(slots=True)
class ModelTurn:
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
        """The model is asked."""
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


T = TypeVar("T")
#: letters of a piece by which a text is found
PIECE = 8


class TextIndex:
    """Numbered texts, found by what they hold. A text that is added again under its number replaces the one before."""

    def __init__(self) -> None:
        self.texts: dict[int, str] = {}
        #: pieces that follow each other in a text -> the numbers of the texts; the text itself decides
        self._pieces: dict[str, list[int]] = {}
        self._joined: tuple[str, list[int], list[int]] | None = None
        self._found: dict[str, Sequence[int]] = {}

    def add(self, number: int, text: str) -> None:
        """Add a text."""
        self.texts[number] = text
        for at in range(0, len(text) - PIECE + 1, PIECE):
            self._pieces.setdefault(text[at : at + PIECE], []).append(number)
        self._joined = None
        self._found.clear()

    def holding(self, text: str) -> Sequence[int]:
        """The numbers of the texts that hold a text, in order."""
        if text not in self._found:
            search = self._by_piece if len(text) >= 2 * PIECE - 1 else self._by_scan
            self._found[text] = sorted(search(text))
        return self._found[text]

    def _by_piece(self, text: str) -> set[int]:
        """A text of this length has a whole piece of whatever holds it; of several, the rarest is looked at."""
        found: set[int] = set()
        for first in range(PIECE):
            starts = range(first, len(text) - PIECE + 1, PIECE)
            found.update(min((self._pieces.get(text[at : at + PIECE], ()) for at in starts), key=len))
        return {number for number in found if text in self.texts[number]}

    def _by_scan(self, text: str) -> set[int]:
        if self._joined is None:
            starts = list(accumulate((len(held) + 1 for held in self.texts.values()), initial=0))
            self._joined = "\n".join(self.texts.values()), starts, list(self.texts)
        joined, starts, numbers = self._joined
        found: set[int] = set()
        at = joined.find(text)
        while at >= 0:
            place = bisect_right(starts, at) - 1
            found.add(numbers[place])
            at = joined.find(text, starts[place + 1])
        return found


class HeldTexts(Generic[T]):
    """Things by their texts, found by a longer text that holds these."""

    def __init__(self) -> None:
        #: how a text begins -> its length -> itself -> its things
        self._texts: dict[str, dict[int, dict[str, list[T]]]] = {}
        self._beginnings: set[int] = set()

    def add(self, text: str, thing: T) -> None:
        """Add a thing that has a text; an empty one is held by nothing."""
        if text:
            begins = text[:PIECE]
            self._beginnings.add(len(begins))
            self._texts.setdefault(begins, {}).setdefault(len(text), {}).setdefault(text, []).append(thing)

    def held_by(self, whole: str) -> Iterator[tuple[str, list[T]]]:
        """The texts that a text holds, each with its things; one that it holds twice comes twice."""
        for at in range(len(whole)):
            for size in self._beginnings:
                begins = whole[at : at + size]
                for length, texts in self._texts.get(begins, {}).items() if len(begins) == size else ():
                    text = whole[at : at + length]
                    if text in texts:
                        yield text, texts[text]
