"""Writes the screen and the run into new files. Existing files are never overwritten."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trunkline.app.tui.platform.textual_private import screen_lines
from trunkline.core.events.trace import encode_trace

if TYPE_CHECKING:
    from textual.app import App

    from trunkline.app.runs.model import Run

#: the exported picture names a web font; looking at it must not fetch anything
_FONT_FACE = re.compile(r"@font-face\s*\{.*?\}", re.DOTALL)
#: files of one name that are tried before giving up
_MOST = 1000


def picture(app: App[Any]) -> str:
    """The screen as SVG."""
    return _FONT_FACE.sub("", app.export_screenshot(title="trunkline"))


def visible_text(app: App[Any]) -> str:
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


def stem_of(run: Run, seq: int) -> str:
    """The stem of the files of a run: scenario, seed if there is one, and the event that is shown."""
    header = run.trace.header
    name = re.sub(r"[^\w.-]+", "-", header.scenario).strip("-.") or "run"
    return f"{name}{f'-seed{header.seed}' if header.seeded else ''}-at{seq}"


def trace_bytes(run: Run) -> bytes:
    """The run as JSON lines."""
    return encode_trace(run.trace)
