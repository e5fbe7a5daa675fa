"""The port through which an adapter for calls turns text into speech."""

import math
from typing import Protocol

import msgspec

from trunkline.core.channels.voice.speakable import speakable
from trunkline.core.errors import PlatformError, Refused, SpeechFailed
from trunkline.core.well_formed import describe

#: the longest text that is given to an engine, in characters, and the longest speech that is taken from it, in seconds
LONGEST_TEXT = 2000
LONGEST_SPEECH = 300.0


class Speech(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    #: what is said
    text: str
    #: how long it takes
    seconds: float
    #: the sound, in the form that `mime` names; empty from an engine that only measures
    audio: bytes = b""
    mime: str = "audio/wav"


class SpeechEngine(Protocol):
    """Turns text into speech. `trunkline.core.channels.voice.Espeak` is one."""

    async def speech(self, text: str) -> Speech:
        """The speech of a speakable text. Raises `trunkline.core.errors.SpeechFailed`, or any error of its own."""
        ...


async def say(engine: SpeechEngine, text: str) -> Speech:
    """The speech of a chunk: made speakable, and checked. Call it before anything reaches the platform.

    Raises `Refused` for a text that can never be said, and `SpeechFailed`, which is worth another attempt.
    """
    words = speakable(text)
    if not words:
        raise Refused("nothing of the text can be said")
    if len(words) > LONGEST_TEXT:
        raise Refused(f"{len(words)} characters are too many for one utterance; the limit is {LONGEST_TEXT}")
    try:
        speech = await engine.speech(words)
    except PlatformError:
        raise
    except Exception as error:
        raise SpeechFailed(f"the engine raised {describe(error)}") from error
    if not isinstance(speech, Speech):  # pyright: ignore[reportUnnecessaryIsInstance] -- user code
        raise SpeechFailed(f"the engine returned a value of type {type(speech).__name__} instead of a Speech")
    if not (math.isfinite(speech.seconds) and 0 < speech.seconds <= LONGEST_SPEECH):
        raise SpeechFailed(f"the engine says that it takes {speech.seconds:g} s; the limit is {LONGEST_SPEECH:g} s")
    return speech
