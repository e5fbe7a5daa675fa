"""The commands that take recorded runs, and their options; each does its work in a module of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Group, Parameter

LOOKS = Group("Looks")


def replay(
    file: Annotated[Path, Parameter(allow_leading_hyphen=True)],
    /,
    *,
    plain: Annotated[bool, Parameter(negative=())] = False,
    limit: int = 256,
    cut: Annotated[bool, Parameter(negative=())] = False,
    ascii: Annotated[bool, Parameter(group=LOOKS, negative=())] = False,  # noqa: A002
    theme: Annotated[str | None, Parameter(group=LOOKS)] = None,
) -> int:
    """Open a recorded trace, judged anew; a report where there is no terminal.

    Parameters
    ----------
    file:
        A trace, as `trunkline run --trace` writes it.
    plain:
        Print the report, also on a terminal.
    limit:
        The most MiB of trace that are opened.
    cut:
        Open a trace that lost its end as far as it goes. What only the end of a run can break is not judged then.
    ascii:
        Draw with ASCII characters only.
    theme:
        Name of a theme.
    """
    from trunkline.app.cli.run.open_app import replay_trace

    return replay_trace(file, plain=plain, limit=limit, cut=cut, ascii=ascii, theme=theme)


def watch(
    file: Annotated[Path, Parameter(allow_leading_hyphen=True)],
    /,
    *,
    plain: Annotated[bool, Parameter(negative=())] = False,
    limit: int = 256,
    ascii: Annotated[bool, Parameter(group=LOOKS, negative=())] = False,  # noqa: A002
    theme: Annotated[str | None, Parameter(group=LOOKS)] = None,
) -> int:
    """Open the trace of a run that is still going on, and follow it. Exit code: 0 all held, 1 something was violated.

    Parameters
    ----------
    file:
        A trace that is being written, or will be; `-` reads it from a pipe.
    plain:
        Only tells what to use instead: what goes on cannot be told as a report.
    limit:
        The most MiB of trace that are read.
    ascii:
        Draw with ASCII characters only.
    theme:
        Name of a theme.
    """
    from trunkline.app.cli.run.watch import watch_trace

    return watch_trace(file, plain=plain, limit=limit, ascii=ascii, theme=theme)


def report(
    file: Annotated[Path, Parameter(allow_leading_hyphen=True)],
    /,
    *,
    plain: Annotated[bool, Parameter(negative=())] = False,
    limit: int = 256,
    cut: Annotated[bool, Parameter(negative=())] = False,
) -> int:
    """Print a recorded run as text: everything that the app shows, fact by fact. Exit code as of `replay`.

    Parameters
    ----------
    file:
        A trace, as `trunkline run --trace` writes it; `-` reads it from standard input.
    plain:
        For screen readers and pipes: one fact a line, each with its label, signs as words.
    limit:
        The most MiB of trace that are read.
    cut:
        Read a trace that lost its end as far as it goes. What only the end of a run can break is not judged then.
    """
    from trunkline.app.cli.run.report import print_report

    return print_report(file, plain=plain, limit=limit, cut=cut)


def diff(
    a: Path,
    b: Path,
    /,
    *,
    limit: int = 256,
    cut: Annotated[bool, Parameter(negative=())] = False,
) -> int:
    """Compare two recorded runs: what only one of them has, and what became of the rest. Exit code: 0 same, 1 not.

    Parameters
    ----------
    a:
        A trace, as `trunkline run --trace` writes it.
    b:
        Another one.
    limit:
        The most MiB of each trace that are read.
    cut:
        Read traces that lost their end as far as they go.
    """
    from trunkline.app.cli.run.diff import print_diff

    return print_diff(a, b, limit=limit, cut=cut)
