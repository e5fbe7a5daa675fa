"""Questions of commands that write a file: asked on a terminal, or answered by options, and the file that they make."""

from collections.abc import Callable, Iterable
from pathlib import Path

from trunkline.app.terminal.output import print_error, print_lines
from trunkline.core.errors import UsageError


def check_new(file: Path, such_as: str, *, force: bool) -> None:
    """Raise `UsageError` if a file of this name cannot be made; `such_as`: a usual name."""
    if not file.name.isprintable():
        raise UsageError(f"{str(file)!r} cannot be the name of a file: name another one")
    if file.is_dir():
        raise UsageError(f"{file} is a folder: name a file in it, such as {file / such_as}")
    if not file.parent.is_dir():
        raise UsageError(f"there is no folder {file.parent}: make it, or name another file")
    if file.exists() and not force:
        raise UsageError(f"{file} is there: name another file, or overwrite it with --force")


def write_with_schema(file: Path, text: str, name: str, schema: Callable[[], str], *, force: bool) -> None:
    """Write a file, and beside it the schema that its first line names; one that is there stays without `force`."""
    # Imported late, like all that only an answered command needs.
    from trunkline.app.report.json_junit import write_whole

    beside = file.with_name(name)
    if force or not beside.exists():
        write_whole(beside, schema().encode())
    write_whole(file, text.encode())


def choose(option: str, text: str, choices: Iterable[str], default: str, given: str | None, *, yes: bool) -> str:
    """A word out of several."""
    known = tuple(choices)

    def check(word: str) -> str | None:
        return None if word in known else f"{word!r} is none of {', '.join(known)}"

    return answer(f"{text} ({', '.join(known)})", option, default, given, check, yes=yes)


def answer(
    text: str, option: str, default: str, given: str | None, check: Callable[[str], str | None], *, yes: bool
) -> str:
    """A right answer: that of the option, the default, or one that is asked for until it is right."""
    if given is None and yes:
        if not default:
            raise UsageError(f"--{option} is missing, and has no default: {text}")
        given = default
    if given is not None:
        if wrong := check(given):
            raise UsageError(f"--{option}: {wrong}")
        return given
    while wrong := check(answer := _ask(text, option, default)):
        print_error(wrong)
    return answer


def _ask(text: str, option: str, default: str) -> str:
    try:
        answer = input(f"{text}{f' [{default}]' if default else ''}: ")
    except EOFError:
        print_lines("")
        raise UsageError(f"no answer, so nothing is written: give --{option}, or --yes for the defaults") from None
    return answer.strip() or default
