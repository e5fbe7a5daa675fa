"""Stories of the wire in which anything may happen, for comparing two judges of them."""

from collections.abc import Callable
from random import Random

from tests.support.wire_story import ANA, BEN, DEPLOY, NOTICE, OPS, REMARK, ROLLBACK, WireStory
from trunkline.core.reasons import Reason
from trunkline.core.values import Address

PLACES = (ANA, BEN, OPS, DEPLOY, ROLLBACK)
#: texts that many answers share, the long ones in parts
_WORDS = (
    "Done.",
    "Yes, that is so, and it has been so for as long as anybody here remembers it.",
    "All answers begin with these words, whatever the question was, and go on for long; "
    "this is the middle of it, which people may see in a message of its own; "
    "and here it comes to its end, which is not the end of the message, since a mark follows.",
)


class RandomStory:
    """Writes a story from dice."""

    def __init__(self, dice: Random) -> None:
        self._dice = dice
        self.story = WireStory()
        #: marks, each with its place; what the model said; messages
        self._asked: list[tuple[str, Address]] = []
        self._said: list[tuple[str, Address]] = []
        self._sent: list[str] = []
        self._steps: tuple[Callable[[], object], ...] = (
            self._ask, self._ask, self._ask, self._turn, self._turn, self._turn, self._send, self._send, self._send,
            self._part, self._part, self._notice, self._refuse, self._edit, self._delete, self._close, self._trouble,
            self._nudge, self._unasked, self._cut,
        )  # fmt: skip

    def tell(self, steps: int) -> WireStory:
        """Write so many steps, and the end."""
        for _ in range(steps):
            self._dice.choice(self._steps)()
        return self.story.end(rest=self._dice.random() < 0.7)

    def _place(self) -> Address:
        return self._dice.choice(PLACES)

    def _ask(self) -> None:
        mark, place = f"q{len(self._asked)}", self._place()
        text = self._dice.choice(("hello", "hello", "/status", f"hello {mark}"))
        self.story.ask(mark, place, text, taken=self._dice.random() < 0.8)
        self._asked.append((mark, place))

    def _nudge(self) -> None:
        if self._asked:
            mark, place = self._dice.choice(self._asked)
            self.story.ask(f"again{mark}", self._dice.choice((place, place, self._place())))

    def _turn(self) -> None:
        if self._asked:
            mark, place = self._dice.choice(self._asked[-4:])
            more = [other for other, _ in self._dice.sample(self._asked, min(1, self._dice.randrange(3)))]
            status = self._dice.choice((200,) * 5 + (500,))
            marks = dict.fromkeys([*more, mark])
            said = self.story.turn(*marks, text=self._dice.choice(_WORDS), status=status)
            if said:
                self._said.append((said, place))

    def _unasked(self) -> None:
        said = self.story.turn(text=self._dice.choice(_WORDS))
        self._said.append((said, self._place()))

    def _cut(self) -> None:
        if self._asked:
            mark, place = self._dice.choice(self._asked)
            self.story.model_says(self.story.prompt(mark), _WORDS[-1][:100] + "…")
            self._sent.append(self.story.send(_WORDS[-1][: self._dice.choice((60, 130))], place))
            self._sent.append(self.story.send(f"And so on, for {mark}.", place))

    def _answer(self) -> tuple[str, Address]:
        said, place = self._dice.choice(self._said[-5:]) if self._said else (NOTICE, ANA)
        return said, self._dice.choice((place, place, place, self._place()))

    def _send(self) -> None:
        said, place = self._answer()
        self._sent.append(self.story.send(said, place, heard=self._dice.random() < 0.8))

    def _part(self) -> None:
        said, place = self._answer()
        first, end = sorted(self._dice.sample(range(0, 300, 60), 2))
        if said[first:end].strip():
            self._sent.append(self.story.send(said[first:end], place))

    def _notice(self) -> None:
        text = self._dice.choice((NOTICE, REMARK, "Something went wrong.", f"Number {len(self._sent)} failed."))
        reply = f"q-{self._dice.choice(self._asked)[0]}" if self._asked and self._dice.random() < 0.5 else None
        self._sent.append(self.story.send(text, self._place(), reply_to=reply))

    def _refuse(self) -> None:
        said, place = self._answer()
        text = self._dice.choice((said, NOTICE))
        reason = self._dice.choice((Reason.REFUSED, Reason.RATE_LIMITED, Reason.PLACE_GONE, Reason.UNAUTHORIZED))
        wait = 5.0 if reason is Reason.RATE_LIMITED else None
        self.story.refuse(text, place, reason, retry_after=wait, detail=self._dice.choice(("", "global")))

    def _edit(self) -> None:
        if self._sent:
            self.story.edit(self._dice.choice(self._sent), self._answer()[0])

    def _delete(self) -> None:
        if self._sent:
            self.story.delete(self._dice.choice(self._sent))

    def _close(self) -> None:
        self.story.close(self._dice.choice((DEPLOY, ROLLBACK, self._place())))

    def _trouble(self) -> None:
        self._dice.choice((self.story.crash, self.story.fault, lambda: self.story.fault("push/drop")))()
