"""The pages of ``--help`` as ``tools/docs.py`` stores them: what makes one takes ten times as long as reading it.

Nothing is imported here that a bare interpreter has not, but for a terminal that shows colours.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

#: cells in a line of a stored page; a narrower terminal has its pages made
WIDTH = 80
#: the file of the pages, each below a line with its command
PATH = os.path.join(os.path.dirname(__file__), "help.txt")  # noqa: PTH118, PTH120 -- pathlib costs a fifth of a start
_HEAD = "\n=== trunkline "
_HELP = ("--help", "-h")


def stored_page(arguments: list[str]) -> str | None:
    """The stored help page of the named command; none if standard output is too narrow or cannot show the boxes."""
    if arguments[:1] == ["help"]:
        words = arguments[1:]
    elif arguments and arguments[-1] in _HELP:
        words = arguments[:-1]
    else:
        return None
    out = sys.stdout
    # What takes the place of standard output may be without an encoding, or there is none at all.
    if (getattr(out, "encoding", None) or "").lower() not in ("utf-8", "utf8") or _columns() < WIDTH:
        return None
    try:
        with open(PATH, encoding="utf-8") as file:  # noqa: PTH123 -- see above
            pages = file.read()
    except FileNotFoundError:
        return None
    _, found, rest = pages.partition(f"{_HEAD}{' '.join([*words, '--help'])}\n")
    page = rest.partition(_HEAD)[0].removesuffix("\n")
    return (_coloured(page) if out.isatty() and "NO_COLOR" not in os.environ else page) if found else None


def as_stored(pages: "Mapping[str, str]") -> str:
    """The file of the pages, by command: ``queue list --help``."""
    return "".join(f"{_HEAD}{command}\n{page.rstrip()}" for command, page in pages.items()) + "\n"


def _columns() -> int:
    """The width of standard output in cells, or of the variable `COLUMNS`."""
    said = os.environ.get("COLUMNS", "")
    if said.isdecimal():
        return int(said)
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or WIDTH
    except (OSError, ValueError):
        return WIDTH


def _coloured(page: str) -> str:
    """The page in colours: the first line bold, names of options and commands cyan."""
    import re

    named = re.sub(r"(?m)^(│ )(\S+(?: \S+)*)(?=  )", "\\1\x1b[36m\\2\x1b[0m", page)
    return re.sub(r"^.+", "\x1b[1m\\g<0>\x1b[0m", named, count=1)
