"""Writes the screen and the run into new files. Existing files are never overwritten."""

import os
import re
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from errno import errorcode
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trunkline.app.text.cells import clean_lines
from trunkline.app.tui.platform.textual_private import screen_lines

if TYPE_CHECKING:
    from textual.app import App

    from trunkline.app.runs.model import Run

#: the exported picture names a web font; looking at it must not fetch anything
_FONT_FACE = re.compile(r"@font-face\s*\{.*?\}", re.DOTALL)
#: files of one name that are tried before giving up
_MOST = 1000


def picture(app: "App[Any]") -> str:
    """The screen as SVG."""
    return _FONT_FACE.sub("", app.export_screenshot(title="trunkline"))


def visible_text(app: "App[Any]") -> str:
    """The screen as lines of text."""
    return "\n".join(strip.text.rstrip() for strip in screen_lines(app)) + "\n"


def current_folder() -> Path:
    """The absolute path of the current folder; a relative one if the folder was removed, so that a write fails."""
    try:
        return Path.cwd()
    except OSError:
        return Path()


def write_new(folder: Path, stem: str, suffix: str, content: bytes) -> Path:
    """Write a file of a name that is free: ``stem.suffix``, else ``stem-2.suffix`` and on. Raises `OSError`."""
    for number in range(1, _MOST + 1):
        path = folder / (f"{stem}{suffix}" if number == 1 else f"{stem}-{number}{suffix}")
        try:
            # Create it exclusively: another process could create it between a check and the write.
            file = path.open("xb")
        except FileExistsError:
            continue
        try:
            with file:
                file.write(content)
        except OSError as error:
            with suppress(OSError):
                path.unlink()
            raise OSError(error.errno, error.strerror, str(path)) from error
        return path
    raise FileExistsError(17, f"{_MOST} files of this name are there already", str(folder / f"{stem}{suffix}"))


def stem_of(run: "Run", seq: int) -> str:
    """The stem of the files of a run: scenario, seed if there is one, and the event that is shown."""
    header = run.trace.header
    name = re.sub(r"[^\w.-]+", "-", header.scenario).strip("-.") or "run"
    return f"{name}{f'-seed{header.seed}' if header.seeded else ''}-at{seq}"


# Copying. Terminals take OSC 52 or drop it without a word, so where that is not sure the text goes into a file too.

#: terminals that are known to take OSC 52 as they come: how TERM or TERM_PROGRAM of theirs begins
_TAKES = ("alacritty", "contour", "foot", "ghostty", "iterm.app", "rio", "wezterm", "xterm-kitty", "xterm-ghostty")
#: around a terminal: they hold it back, or ask first
_BETWEEN = ("TMUX", "STY", "SSH_TTY")


def takes_copies(environment: Mapping[str, str]) -> bool:
    """Whether the terminal surely takes what is copied."""
    if any(environment.get(name) for name in _BETWEEN):
        return False
    names = (environment.get("TERM", "").lower(), environment.get("TERM_PROGRAM", "").lower())
    return bool(environment.get("WT_SESSION")) or any(name.startswith(_TAKES) for name in names)


def copy(app: "App[Any]", text: str, environment: Mapping[str, str] | None = None) -> str:
    """Copy a text and say where it is now. Raises `OSError` with a path where it could only be written and was not."""
    # What is pasted into a shell must not press keys there.
    text = clean_lines(text)
    app.copy_to_clipboard(text)
    if takes_copies(os.environ if environment is None else environment):
        return "on the clipboard"
    return f"on the clipboard, if the terminal allows it; also in {keep(text)}"


def keep(text: str) -> Path:
    """Write a text into a new file that only its owner reads."""
    descriptor, name = tempfile.mkstemp(prefix="trunkline-", suffix=".txt")
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text + "\n")
    return Path(name)


def failure(error: OSError, path: object = None) -> str:
    """The problem with a file: its path, the reason, and the name of the errno."""
    code = errorcode.get(error.errno or 0)
    name = f" ({code})" if code else ""
    return f"{error.filename or path or 'the file'}: {error.strerror or error}{name}"
