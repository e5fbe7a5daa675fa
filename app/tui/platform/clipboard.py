"""Copying. Terminals take OSC 52 or drop it without a word, so where that is not sure the text goes into a file too."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from errno import errorcode
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trunkline.app.text.cells import clean_lines

if TYPE_CHECKING:
    from textual.app import App

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


def copy(app: App[Any], text: str, environment: Mapping[str, str] | None = None) -> str:
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
