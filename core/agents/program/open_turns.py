"""The turns of a program: a message of the program goes to the named turn, and to no other."""

from collections import deque

import anyio
import msgspec

from trunkline.core.agents.program.config import ProgramConfig
from trunkline.core.agents.program.lines import TooLong
from trunkline.core.agents.program.messages import CallMessage, Malformed, OfTurn
from trunkline.core.reasons import Reason


class Broken(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a turn without a final message of the program."""

    facts: str
    reason: Reason


class OpenTurn:
    """The messages of the program for a turn, still unread by the turn."""

    def __init__(self, config: ProgramConfig) -> None:
        self._config = config
        self._said: deque[OfTurn | Broken] = deque()
        self._new = anyio.Event()
        self._bytes = 0
        self._calls = 0
        #: nothing more is accepted: its end has been said
        self.is_over = False
        #: the program itself has ended it
        self.is_answered = False

    def say(self, message: OfTurn, size: int) -> None:
        """Keep a message of the program, `size` bytes long; beyond a limit the turn is broken instead."""
        self._bytes += size
        if isinstance(message, CallMessage):
            self._calls += 1
        if self._bytes > self._config.max_output:
            facts = f"more than {self._config.max_output} bytes of output for one turn; see `max_output`"
            self.end(Broken(facts=facts, reason=Reason.ANSWER_TOO_LONG))
        elif self._calls > self._config.max_calls:
            facts = f"more than {self._config.max_calls} calls of tools; see `max_calls`"
            self.end(Broken(facts=facts, reason=Reason.TOO_MANY_CALLS))
        elif isinstance(message, CallMessage):
            self._add(message)
        else:
            self.end(message)

    def end(self, last: OfTurn | Broken) -> None:
        """Keep the last message of the turn; later messages are ignored."""
        if not self.is_over:
            self.is_over, self.is_answered = True, not isinstance(last, Broken)
            self._add(last)

    async def next(self) -> OfTurn | Broken:
        while not self._said:
            self._new = anyio.Event()
            await self._new.wait()
        return self._said.popleft()

    def _add(self, message: OfTurn | Broken) -> None:
        self._said.append(message)
        self._new.set()


class OpenTurns:
    def __init__(self, config: ProgramConfig) -> None:
        self._config = config
        self._turns: dict[str, OpenTurn] = {}

    def __len__(self) -> int:
        return len(self._turns)

    def open(self, turn: str) -> OpenTurn:
        opened = self._turns[turn] = OpenTurn(self._config)
        return opened

    def close(self, turn: str) -> None:
        self._turns.pop(turn, None)

    def say(self, message: OfTurn, size: int) -> str:
        """Give a message to the named turn; returns a description of the fault if there is no such turn."""
        opened = self._turns.get(message.turn)
        if opened is None or opened.is_over:
            return f"a message of a turn that is not open: {message.turn}"
        opened.say(message, size)
        return ""

    def malformed(self, line: Malformed) -> str:
        """Break the turn named by a malformed line; returns a description of the fault."""
        wrong = f"a line that is no message: {line.what}"
        self._break(line.turn, Broken(facts=wrong, reason=Reason.BAD_ANSWER))
        return wrong

    def too_long(self, line: TooLong) -> str:
        """Break the turn named by an endless line; returns a description of the fault."""
        wrong = f"a line of more than {self._config.max_line} bytes; see `max_line`"
        self._break(line.turn, Broken(facts=wrong, reason=Reason.ANSWER_TOO_LONG))
        return wrong

    def end_all(self, broken: Broken) -> None:
        for opened in self._turns.values():
            opened.end(broken)

    def _break(self, turn: str | None, broken: Broken) -> None:
        opened = None if turn is None else self._turns.get(turn)
        if opened is not None:
            opened.end(broken)
