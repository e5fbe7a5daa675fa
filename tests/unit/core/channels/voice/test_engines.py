"""The port to speech, and espeak-ng: with a fake program on the PATH, and with the real one where it is installed."""

import io
import os
import shutil
import stat
import wave
from pathlib import Path
from typing import Any

import anyio
import pytest

from trunkline.core.channels.voice import Espeak, Speech, SpeechEngine, say
from trunkline.core.channels.voice.espeak import complete_wav
from trunkline.core.errors import ConfigError, PlatformError, RateLimited, Refused, SpeechFailed

#: a program that speaks like espeak-ng: a WAV on the standard output, whose header has no true length
FAKE = """#!{python}
import struct, sys, time
{before}
text = sys.stdin.buffer.read()
with open({log!r}, "ab") as log:
    log.write(repr(sys.argv[1:]).encode() + b"|" + text + b"\\n")
samples = b"\\0\\0" * (len(text) * 100)
head = b"RIFF" + struct.pack("<I", 0x7FFFF024) + b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 1, 1000, 2000, 2, 16)
sys.stdout.buffer.write(head + b"data" + struct.pack("<I", 0x7FFFF000) + samples)
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Puts a program called espeak-ng in front of the PATH; returns where it logs its calls."""
    import sys

    def install(before: str = "", body: str = FAKE) -> Path:
        log = tmp_path / "log"
        path = tmp_path / "espeak-ng"
        path.write_text(body.format(python=sys.executable, before=before, log=str(log)))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
        return log

    return install


def speech_of(engine: SpeechEngine, text: str) -> Speech:
    return anyio.run(say, engine, text)


def test_a_text_becomes_a_wav_file_with_its_duration(program: Any) -> None:
    log = program()
    speech = speech_of(Espeak(voice="de", words_per_minute=200), "**Guten** Tag -v xx")
    assert (speech.text, speech.seconds, speech.mime) == ("Guten Tag -v xx", 1.5, "audio/wav")
    with wave.open(io.BytesIO(speech.audio)) as file:
        assert (file.getnframes(), file.getframerate()) == (1500, 1000)
    # Nothing of the text is an option.
    assert log.read_text() == "['--stdin', '--stdout', '-v', 'de', '-s', '200']|Guten Tag -v xx\n"


def test_a_missing_program_is_an_error_at_once_that_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ConfigError, match=r"'espeak-ng' is not there: install espeak-ng .*apt install espeak-ng"):
        Espeak()


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"words_per_minute": 20}, "expected 80 to 450, found 20"),
        ({"voice": "--help"}, "expected a name such as 'en' or 'de'"),
        ({"voice": " "}, "expected a name such as 'en' or 'de'"),
    ],
)
def test_unusable_settings_are_errors(program: Any, settings: dict[str, Any], error: str) -> None:
    program()
    with pytest.raises(ConfigError, match=error):
        Espeak(**settings)


@pytest.mark.parametrize(
    ("before", "error"),
    [
        ("sys.stderr.write('no such voice'); sys.exit(1)", "ended with 1: no such voice"),
        ("sys.exit(3)", "ended with 3: no message"),
        ("sys.exit(0)", "gave no WAV file"),
        ("sys.stdout.write('RIFF....'); sys.exit(0)", "gave no WAV file"),
    ],
)
def test_a_program_that_fails_is_worth_another_attempt(program: Any, before: str, error: str) -> None:
    program(before)
    with pytest.raises(SpeechFailed, match=error) as caught:
        speech_of(Espeak(), "hello")
    assert caught.value.retryable and not caught.value.ambiguous


def test_a_program_that_ends_before_it_has_read_a_long_text_says_why(program: Any) -> None:
    program("sys.stderr.write('no such voice'); sys.exit(1)")
    with pytest.raises(SpeechFailed, match="ended with 1: no such voice"):
        anyio.run(Espeak().speech, "hello " * 100_000)


def test_a_program_that_hangs_is_ended(program: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trunkline.core.channels.voice.espeak._TIMEOUT", 0.3)
    program("time.sleep(60)")
    with pytest.raises(SpeechFailed, match=r"not answered within 0\.3 s"):
        speech_of(Espeak(), "hello")


def test_a_program_that_is_gone_later_is_an_error(program: Any, tmp_path: Path) -> None:
    program()
    engine = Espeak()
    (tmp_path / "espeak-ng").unlink()
    with pytest.raises(SpeechFailed, match="could not be started"):
        speech_of(engine, "hello")


def test_a_file_without_sound_is_no_speech() -> None:
    empty = io.BytesIO()
    with wave.open(empty, "wb") as file:
        file.setparams((1, 2, 8000, 0, "NONE", ""))
    with pytest.raises(SpeechFailed, match="without sound"):
        complete_wav(empty.getvalue())


@pytest.mark.skipif(shutil.which("espeak-ng") is None, reason="espeak-ng is not installed; the tests above have a fake")
def test_the_real_program_speaks() -> None:
    short, long = (speech_of(Espeak(), text) for text in ("Yes.", "Yes, and this takes much longer to say."))
    assert 0.2 < short.seconds < long.seconds < 10
    with wave.open(io.BytesIO(long.audio)) as file:
        assert file.getnframes() / file.getframerate() == pytest.approx(long.seconds)


# ---------------------------------------------------------------- the port


class Engine:
    """An engine that answers with whatever a test wants."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: list[str] = []

    async def speech(self, text: str) -> Speech:
        self.asked.append(text)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize("text", ["***", " ", "```\n```"])
def test_what_cannot_be_said_is_refused_before_the_engine(text: str) -> None:
    engine = Engine(None)
    with pytest.raises(Refused, match="nothing of the text can be said"):
        speech_of(engine, text)
    assert engine.asked == []


def test_an_endless_text_is_refused() -> None:
    with pytest.raises(Refused, match="2001 characters are too many"):
        speech_of(Engine(None), "a" * 2001)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (ValueError("broken"), "the engine raised ValueError: broken"),
        ("a sound", "a value of type str instead of a Speech"),
        (Speech(text="x", seconds=0.0), "it takes 0 s"),
        (Speech(text="x", seconds=float("nan")), "it takes nan s"),
        (Speech(text="x", seconds=1e9), r"it takes 1e\+09 s; the limit is 300 s"),
    ],
)
def test_an_engine_that_misbehaves_is_worth_another_attempt(answer: Any, error: str) -> None:
    with pytest.raises(SpeechFailed, match=error):
        speech_of(Engine(answer), "hello")


def test_an_engine_may_say_what_its_failure_means() -> None:
    with pytest.raises(RateLimited) as caught:
        speech_of(Engine(RateLimited("slowly", retry_after=3.0)), "hello")
    assert isinstance(caught.value, PlatformError) and caught.value.retry_after == 3.0
