"""One test for all cases of a table: it tries every case, and its failure lists each that does not hold.

`@for_each` takes the place of `@pytest.mark.parametrize`, with the same arguments, where a case costs less than an item
of pytest does: some milliseconds in each worker, to collect it, set it up and report it. The cases share the fixtures.
"""

import functools
import inspect
import itertools
import os
import traceback
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator
from typing import Any, NamedTuple, TypeVar, cast

import pytest

from tests.support.paths import ROOT

T = TypeVar("T", bound=Callable[..., Any])
#: what a case may raise: what `pytest.fail`, `pytest.skip` and `pytest.raises` raise is no `Exception`
FAILURES = (Exception, pytest.fail.Exception, pytest.skip.Exception)
LONGEST = 120


class Case(NamedTuple):
    """What a case gives to the test, and how a failure names it: by its id, or by the texts of its values."""

    arguments: dict[str, Any]
    id: str | None
    text: Callable[[Any], object] | None = None

    @property
    def name(self) -> str:
        return self.id or ", ".join(f"{key}={self._text(value)}" for key, value in self.arguments.items())

    def _text(self, value: Any) -> str:
        own = None if self.text is None else self.text(value)
        return str(own) if own is not None else _short(getattr(value, "__name__", None) or repr(value))


def for_each(
    names: str | Collection[str], values: Iterable[Any], ids: Iterable[str] | Callable[[Any], object] | None = None
) -> Callable[[T], T]:
    """Make one test of all values. Two of these above one another make one test of their product."""
    keys = tuple(name.strip() for name in names.split(",")) if isinstance(names, str) else tuple(names)
    cases = tuple(_cases(keys, values, ids, single=isinstance(names, str) and len(keys) == 1))
    if not cases:
        raise ValueError(f"no cases: {names}")

    def decorate(test: T) -> T:
        body, tables = getattr(test, "body", test), (cases, *getattr(test, "tables", ()))
        run = functools.wraps(test)(_awaited(body, tables) if inspect.iscoroutinefunction(body) else _run(body, tables))
        left = [each for name, each in inspect.signature(test).parameters.items() if name not in keys]
        vars(run).update(body=body, tables=tables, __signature__=inspect.Signature(left))
        return cast(T, run)

    return decorate


def _run(body: Callable[..., None], tables: tuple[tuple[Case, ...], ...]) -> Callable[..., None]:
    def run(*fixtures: Any, **named: Any) -> None:
        offenders: list[tuple[str, BaseException]] = []
        for name, arguments in _rows(tables):
            try:
                body(*fixtures, **named, **arguments)
            except FAILURES as error:
                offenders.append((name(), error))
        _fail(offenders, tables)

    return run


def _awaited(body: Callable[..., Awaitable[None]], tables: tuple[tuple[Case, ...], ...]) -> Callable[..., Any]:
    async def run(*fixtures: Any, **named: Any) -> None:
        offenders: list[tuple[str, BaseException]] = []
        for name, arguments in _rows(tables):
            try:
                await body(*fixtures, **named, **arguments)
            except FAILURES as error:
                offenders.append((name(), error))
        _fail(offenders, tables)

    return run


def _rows(tables: tuple[tuple[Case, ...], ...]) -> Iterator[tuple[Callable[[], str], dict[str, Any]]]:
    """The product: the cases nearest to the test change fastest. A name is made only where it is needed."""
    for row in itertools.product(*tables):
        arguments = {key: value for case in row for key, value in case.arguments.items()}
        yield lambda row=row: ", ".join(case.name for case in row), arguments


def _fail(offenders: list[tuple[str, BaseException]], tables: tuple[tuple[Case, ...], ...]) -> None:
    """Tell all offenders; the first one with its traceback."""
    if offenders:
        number = sum(1 for _ in _rows(tables))
        lines = (f"  {name}: {_told(error)}" for name, error in offenders)
        head = f"{len(offenders)} of {number} cases do not hold:"
        raise AssertionError("\n".join([head, *lines])) from offenders[0][1]


def _told(error: BaseException) -> str:
    """An error on one line, with the place in the tests where it was raised."""
    first = next(iter(str(error).splitlines()), "")
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if frame.filename.startswith(str(ROOT / "tests"))]
    place = (ours or frames)[-1]
    return f"{type(error).__name__}: {_short(first)} ({os.path.relpath(place.filename, ROOT)}:{place.lineno})"


def _cases(
    keys: tuple[str, ...], values: Iterable[Any], ids: Iterable[str] | Callable[[Any], object] | None, *, single: bool
) -> Iterator[Case]:
    text, listed = (ids, None) if callable(ids) else (None, None if ids is None else iter(ids))
    for value in values:
        row, name = value, None if listed is None else str(next(listed))
        if isinstance(value, _PARAM):
            given: Any = value
            if given.marks:
                raise ValueError(f"a case has no marks: {given}")
            row, name = given.values[0] if single else given.values, given.id or name
        yield Case({keys[0]: row} if single else dict(zip(keys, row, strict=True)), name, text)


#: what `pytest.param` makes
_PARAM = type(pytest.param())


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
