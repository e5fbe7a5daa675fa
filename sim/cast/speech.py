"""The speech of a scripted agent in one turn: repeats, and texts that the policy denied."""

from __future__ import annotations

from collections.abc import Callable

from trunkline.sim.events.script import SaidTwice, TextDenied


class TurnSpeech:
    """The texts of one turn. Texts are compared without regard to white space."""

    def __init__(self, agent: str, turn: str, record: Callable[..., object]) -> None:
        self._agent, self._turn = agent, turn
        self._record = record
        self._asked: set[tuple[str, str]] = set()
        self._passed: set[str] = set()
        self._denied: dict[str, str] = {}

    def asks(self, where: str, text: str) -> None:
        """The agent wants a text to be seen in a place; empty for the place of the turn. Records a repeat."""
        asked = (where, _words(text))
        if asked in self._asked:
            self._record(SaidTwice(by=self._by, text=text), turn=self._turn)
        self._asked.add(asked)

    def passes(self, text: str) -> None:
        """The gateway takes a text."""
        self._passed.add(_words(text))

    def is_denied(self, text: str) -> None:
        """The policy denies a text."""
        self._denied[_words(text)] = text

    def end(self) -> None:
        """The agent has finished. Records the denied texts that it said nowhere else."""
        for words, text in self._denied.items():
            if words and words not in self._passed:
                self._record(TextDenied(by=self._by, text=text), turn=self._turn)

    @property
    def _by(self) -> str:
        return f"agent {self._agent}"


def _words(text: str) -> str:
    return " ".join(text.split())
