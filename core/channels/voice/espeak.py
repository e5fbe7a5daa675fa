"""The espeak-ng program as an engine: a local process for each utterance, and no network."""

import io
import shutil
import wave
from tempfile import TemporaryFile

import anyio

from trunkline.core.channels.voice.port import LONGEST_SPEECH, Speech
from trunkline.core.errors import ConfigError, SpeechFailed

#: seconds that the program may take for one utterance; it needs a few milliseconds
_TIMEOUT = 5.0
_REMEDY = (
    "install espeak-ng (Debian and Ubuntu: apt install espeak-ng; macOS: brew install espeak-ng; Windows: its"
    " installer), or pass its path as `program`"
)
#: characters of the program's own message that are kept
_WORDS = 200


class Espeak:
    """Speaks with espeak-ng. Raises `ConfigError` at once if the program is missing.

    `voice`: a voice of ``espeak-ng --voices``. The text is passed on the standard input, so nothing in it is an option.
    """

    def __init__(self, *, voice: str = "en", words_per_minute: int = 175, program: str = "espeak-ng") -> None:
        found = shutil.which(program)
        if found is None:
            raise ConfigError(f"the program {program!r} is not there: {_REMEDY}")
        if not 80 <= words_per_minute <= 450:
            raise ConfigError(f"words_per_minute: expected 80 to 450, found {words_per_minute}")
        if not voice.strip() or voice.startswith("-"):
            raise ConfigError(f"voice: expected a name such as 'en' or 'de', found {voice!r}; see `espeak-ng --voices`")
        self._command = [found, "--stdin", "--stdout", "-v", voice, "-s", str(words_per_minute)]

    async def speech(self, text: str) -> Speech:
        """The speech of a text, as a WAV file."""
        try:
            # A file and no pipe: a program that ends before it has read everything breaks a pipe, and hides why.
            with anyio.fail_after(_TIMEOUT), TemporaryFile() as words:
                # Invalid characters are a question mark: the engine is not to fail for them.
                words.write(text.encode("utf-8", "replace"))
                words.seek(0)
                done = await anyio.run_process(self._command, stdin=words, check=False)
        except TimeoutError:
            raise SpeechFailed(f"espeak-ng has not answered within {_TIMEOUT:g} s") from None
        except OSError as error:
            raise SpeechFailed(f"espeak-ng could not be started: {error.strerror or error}") from error
        if done.returncode != 0:
            said = done.stderr.decode("utf-8", "replace").strip()[:_WORDS]
            raise SpeechFailed(f"espeak-ng ended with {done.returncode}: {said or 'no message'}")
        audio, seconds = complete_wav(done.stdout)
        return Speech(text=text, seconds=seconds, audio=audio)


def complete_wav(streamed: bytes) -> tuple[bytes, float]:
    """A WAV file that was written to a pipe, with its true lengths, and its duration in seconds.

    The lengths in the header of a stream are made up. Raises `SpeechFailed` for anything but PCM samples.
    """
    try:
        with wave.open(io.BytesIO(streamed)) as source:
            # Reads to the end, whatever the header claims.
            samples = source.readframes(source.getnframes())
            channels, width, rate = source.getnchannels(), source.getsampwidth(), source.getframerate()
    except (wave.Error, EOFError, ValueError) as error:
        raise SpeechFailed(f"espeak-ng gave no WAV file: {error or 'it is cut off'}") from error
    frames = len(samples) // (channels * width) if rate > 0 else 0
    if frames == 0:
        raise SpeechFailed("espeak-ng gave a WAV file without sound")
    if frames / rate > LONGEST_SPEECH:
        raise SpeechFailed(f"espeak-ng speaks for {frames / rate:.0f} s; the limit is {LONGEST_SPEECH:g} s")
    whole = io.BytesIO()
    with wave.open(whole, "wb") as target:
        target.setnchannels(channels)
        target.setsampwidth(width)
        target.setframerate(rate)
        target.writeframes(samples[: frames * channels * width])
    return whole.getvalue(), frames / rate
