"""Outputs that cannot take everything: a full disk, an encoding without our signs, a stream that was closed."""

import io
import os
import sys
from pathlib import Path

import pytest

from trunkline.app.cli import main
from trunkline.app.cli.io.terminal import can_draw, only_ascii
from trunkline.app.terminal.output import set_encoding_fallback

TOUR = "scenarios/tour/told-twice.yaml"
REPORTS = (("run", TOUR, "--bug", "hand-announces-too"), ("tour",), ("bugs",), ("--help",))


def call(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["trunkline", *arguments])
    return main()


def stream(encoding: str) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding=encoding)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is full")
@pytest.mark.parametrize("arguments", REPORTS, ids=lambda arguments: arguments[0])
def test_an_output_that_is_full_is_a_sentence(monkeypatch, capsys, arguments):
    full = Path("/dev/full").open("w", encoding="utf-8")  # noqa: SIM115 -- what is left in it cannot be written
    monkeypatch.setattr(sys, "stdout", full)
    assert call(monkeypatch, *arguments) == 2
    assert capsys.readouterr().err == "trunkline: the output cannot be written: No space left on device\n"
    # Nothing is left that would fail when the interpreter ends: the output leads nowhere now.
    full.close()


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
@pytest.mark.parametrize("arguments", REPORTS, ids=lambda arguments: arguments[0])
def test_an_encoding_without_our_signs_gets_their_twins(monkeypatch, capsys, arguments, encoding):
    output = stream(encoding)
    monkeypatch.setattr(sys, "stdout", output)
    assert call(monkeypatch, *arguments) == (1 if arguments[0] == "run" else 0)
    assert capsys.readouterr().err == ""
    output.seek(0)
    text = output.read()
    assert len(text) > 500 and "?" not in text.replace("ready?", "")


@pytest.mark.parametrize(
    ("text", "written"),
    [("✗ told “twice” → 2×", b'X told "twice" > 2x'), ("ä日e\u0301", b"???e"), ("file\udcf6.yaml", b"file?.yaml")],
)
def test_a_substitute_is_as_wide_as_its_character(monkeypatch, text, written):
    output = stream("ascii")
    monkeypatch.setattr(sys, "stdout", output)
    set_encoding_fallback()
    print(text, end="", flush=True)
    output.seek(0)
    assert output.read().encode() == written


def test_bytes_of_a_file_name_that_are_no_text_do_not_break_utf8(monkeypatch):
    output = stream("utf-8")
    monkeypatch.setattr(sys, "stdout", output)
    set_encoding_fallback()
    print("✗ file\udcf6", end="", flush=True)
    output.seek(0)
    assert output.read() == "✗ file?"


@pytest.mark.parametrize("gone", ["stdin", "stdout", "stderr"])
def test_without_a_stream_the_app_cannot_draw(monkeypatch, gone):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("TEXTUAL_DRIVER", raising=False)
    for name in ("stdin", "stdout", "stderr"):
        terminal = stream("utf-8")
        monkeypatch.setattr(terminal, "isatty", lambda: True)
        monkeypatch.setattr(sys, name, terminal)
    assert can_draw()
    monkeypatch.setattr(sys, gone, None)
    assert not can_draw()
    monkeypatch.setattr(sys, gone, stream("utf-8"))
    assert not can_draw()


def test_the_encoding_of_standard_error_decides_about_signs(monkeypatch):
    monkeypatch.delenv("TEXTUAL_DRIVER", raising=False)
    for encoding, plain in (("utf-8", False), ("UTF8", False), ("ascii", True), ("latin-1", True), ("cp437", True)):
        monkeypatch.setattr(sys, "__stderr__", stream(encoding))
        assert only_ascii() is plain, encoding


def test_a_closed_pipe_ends_quietly(monkeypatch, capsys):
    reading, writing = os.pipe()
    os.close(reading)
    monkeypatch.setattr(sys, "stdout", os.fdopen(writing, "w", encoding="utf-8"))
    assert call(monkeypatch, "bugs") == 1
    assert capsys.readouterr().err == ""
    sys.stdout.close()


def test_ctrl_c_while_the_command_is_loaded_is_no_traceback(monkeypatch, capsys):
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("trunkline.app.terminal.output.set_encoding_fallback", interrupted)
    assert call(monkeypatch, "bugs") == 130
    assert capsys.readouterr().err == "trunkline: interrupted\n"


def test_an_app_that_textual_serves_in_a_page_has_no_terminal_and_draws(monkeypatch):
    monkeypatch.setenv("TEXTUAL_DRIVER", "textual.drivers.web_driver:WebDriver")
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    assert can_draw() and not only_ascii()
