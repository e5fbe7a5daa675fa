"""Problems of a file with their positions, and the error that carries all of them.

A *path* leads from the top of a file to a value: keys of mappings and indices of lists, e.g. ``("script", 2, "in")``.
"""

from collections.abc import Iterable
from difflib import get_close_matches

import msgspec
from pydantic.alias_generators import to_camel

from trunkline.core.errors import UsageError

Path = tuple[str | int, ...]
Mark = tuple[int, int]

#: reading stops at this many problems
MAX_PROBLEMS = 500
#: hints list the valid words up to this many
_LISTED = 12
#: the nearest word is looked up among at most this many
_COMPARED = 1000


class FileProblem(msgspec.Struct, frozen=True, kw_only=True):
    #: path of the file, as given
    path: str
    #: from 1; 0 for the file as a whole
    line: int
    #: from 1; 0 for the file as a whole
    column: int
    #: dotted path of the value, e.g. ``script[2].in``; empty for the file as a whole
    field: str
    #: what was expected and what was found
    message: str
    #: what to write instead, if known
    hint: str = ""

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}:{self.column}" if self.line else self.path
        field = f"{self.field}: " if self.field else ""
        hint = f" ({self.hint})" if self.hint else ""
        return f"{place}: {field}{self.message}{hint}"


class FileError(UsageError):
    """A file is invalid. `problems` lists everything that is wrong with it, sorted by position."""

    def __init__(self, problems: Iterable[FileProblem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))

    def __str__(self) -> str:
        return self.facts

    def __reduce__(self) -> "tuple[type[FileError], tuple[tuple[FileProblem, ...]]]":
        return type(self), (self.problems,)


class Positions:
    """Lines and columns of the values and keys of a file, by path; both count from 1."""

    def __init__(self) -> None:
        self.values: dict[Path, Mark] = {}
        self.keys: dict[Path, Mark] = {}

    def find(self, path: Path) -> tuple[Path, bool]:
        """The longest part of a path that the file has, in the file's spelling, and whether that is the whole path.

        Paths of models differ from those of files: a single rule becomes a list, ``dm_scope`` may be ``dmScope``.
        """
        found: Path = ()
        for part in path:
            if (*found, part) in self.values:
                found = (*found, part)
            elif isinstance(part, str) and (*found, to_camel(part)) in self.values:
                found = (*found, to_camel(part))
            elif part != 0 or not found:
                return found, False
        return found, True

    def mark(self, path: Path, *, at_key: bool = False) -> Mark:
        """Line and column of a value, or of its key; of the nearest parent if the file lacks the value."""
        found, whole = self.find(path)
        if found in self.keys and (at_key or not whole):
            return self.keys[found]
        return self.values.get(found, (1, 1))


class ProblemReport:
    """Collects the problems of one file."""

    #: the error that carries them
    error_type: type[FileError] = FileError

    def __init__(self, path: str) -> None:
        self.path = path
        self.positions = Positions()
        self.problems: dict[FileProblem, None] = {}

    def add(self, path: Path, message: str, hint: str = "", *, at_key: bool = False) -> None:
        self.add_at(self.positions.mark(path, at_key=at_key), dotted(path), message, hint)

    def add_at(self, mark: Mark, field: str, message: str, hint: str = "") -> None:
        """Report a problem at a line and column; (0, 0) is the whole file. Raises `FileError` at the 500th."""
        problem = FileProblem(path=self.path, line=mark[0], column=mark[1], field=field, message=message, hint=hint)
        self.problems[problem] = None
        if len(self.problems) == MAX_PROBLEMS:
            message = f"only the first {MAX_PROBLEMS} problems are listed"
            more = FileProblem(path=self.path, line=0, column=0, field="", message=message)
            raise self.error_type((*self.error().problems, more))

    def error(self) -> FileError:
        """Every problem so far as one error, sorted by position."""
        return self.error_type(sorted(self.problems, key=lambda problem: (problem.line, problem.column, problem.field)))


def dotted(path: Path) -> str:
    """A path as people write it: ``script[2].in``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def nearest(word: str, options: Iterable[str]) -> str | None:
    """The option most similar to a word, if any is, ignoring case."""
    by_fold = {option.casefold(): str(option) for option in options}
    if len(by_fold) > _COMPARED:
        return None
    close = get_close_matches(word.casefold()[:200], by_fold, n=1)
    return by_fold[close[0]] if close else None


def advice(word: object, options: Iterable[str]) -> str:
    """The hint for a wrong word: the nearest valid one, else all valid ones if they are few."""
    known = sorted({str(option) for option in options})
    close = nearest(word, known) if isinstance(word, str) else None
    if close is not None:
        return f"nearest valid word: {close!r}"
    return f"valid here: {', '.join(known)}" if 0 < len(known) <= _LISTED else ""


def shown(value: object) -> str:
    """A value as errors name it: ``'x'``, ``the number 5``, ``a list``, ``nothing``."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return f"the number {str(value)[:40]}"
        case str():
            return repr(value if len(value) <= 60 else value[:57] + "...")
        case dict():
            return "a mapping"
        case _:
            return "a list"
