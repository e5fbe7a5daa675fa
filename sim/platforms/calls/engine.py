"""An engine that makes no sound: it measures how long a text takes to say, the same in every run."""

from __future__ import annotations

from trunkline.core.channels.voice import Speech

#: characters per second, of people and of the gateway
PACE = 15.0
#: the shortest utterance, in seconds
_SHORTEST = 0.5


def seconds_of(text: str) -> float:
    """How long it takes to say a text."""
    return max(_SHORTEST, round(len(text) / PACE, 3))


class FakeEngine:
    """A `trunkline.core.channels.voice.SpeechEngine`."""

    async def speech(self, text: str) -> Speech:
        return Speech(text=text, seconds=seconds_of(text))
