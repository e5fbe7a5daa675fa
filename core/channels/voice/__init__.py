"""Speech for calls: texts made speakable, and the port to an engine that turns text into speech."""

from trunkline.core.channels.voice.espeak import Espeak
from trunkline.core.channels.voice.port import Speech, SpeechEngine, say
from trunkline.core.channels.voice.speakable import speakable

__all__ = ["Espeak", "Speech", "SpeechEngine", "say", "speakable"]
