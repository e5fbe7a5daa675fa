"""The runner of the tables: reads a file, runs its cases through the module of their area, and tells the differences.

An area is a module of this package with ``run(case, profile) -> dict``: the actual result in the form of `expect`.
"""

import importlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from trunkline.core.profile_rules import Profile

#: area -> the field of `given` by which its cases are known, if they have none of those before it
AREAS = {
    "session_keys": "op",
    "inbound_routes": "input",
    "outbound_routes": "target",
    "gateway_send": "requests",
    "chunking": "chunker",
    "mirror_text": "media_urls",
    "cross_context_policy": "args",
    "action_requirements": "action",
    "retry_backoff": "kind",
    "bindings": "steps",
    "delivery_router": "queue_outcome",
    "heartbeat_tokens": "ack_max_chars",
    "heartbeat_targets": "default_target",
}
#: area -> operations by which its cases are known, where other areas have `op` too
OPERATIONS = {"delivery_router": ("resolve_destination", "completion_destination", "announce_dispatch", "bound_reply")}
FOLDER = Path(__file__).parent
AUGUST = "2026-08"

#: results that stand for the whole answer
_WHOLE = ("parsed", "route", "group", "error")

Fields = dict[str, Any]
Runner = Callable[[Fields, Profile], Fields]


class TableError(Exception):
    """A file that is no table."""


@dataclass(frozen=True, kw_only=True)
class Check:
    """One case under one profile."""

    id: str
    area: str
    case: Fields
    expect: Fields
    profile: Profile


# -------------------------------------------------------------------- files


def load(path: Path, *, also_august: bool = False) -> list[Check]:
    """The checks of a file. Raises `TableError` saying what is wrong with it."""
    try:
        cases = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise TableError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise TableError(f"{path}: not JSON: {error}") from error
    if not isinstance(cases, list):
        raise TableError(f"{path}: expected a list of cases")
    checks: list[Check] = []
    for number, case in enumerate(cases):
        where = f"{path}: case {number}"
        if not isinstance(case, dict) or not isinstance(case.get("id"), str):
            raise TableError(f"{where}: expected an object with an id")
        if not isinstance(case.get("given"), dict) or not isinstance(case.get("expect"), dict):
            raise TableError(f"{where} ({case['id']}): expected the objects given and expect")
        checks += checks_of(case, area_of(path, case), also_august=also_august)
    return checks


def area_of(path: Path, case: Fields) -> str:
    """The area of a case, by the name of its file or by what is given. Raises `TableError` for neither."""
    for area in AREAS:
        if path.stem.replace("-", "_").startswith(area):
            return area
    for area, operations in OPERATIONS.items():
        if case["given"].get("op") in operations:
            return area
    for area, field in AREAS.items():
        if field in case["given"]:
            return area
    fields = ", ".join(f"{field} ({area})" for area, field in AREAS.items())
    raise TableError(f"{path}: case {case['id']}: no known area; expected one of these in given: {fields}")


def checks_of(case: Fields, area: str, *, also_august: bool = False) -> list[Check]:
    """The check of a case, and that of what August changed."""
    checks = [Check(id=case["id"], area=area, case=case, expect=case["expect"], profile=profile_of(case))]
    differs = _changes(case)
    if also_august and differs is not None:
        expect = changed(case["expect"], differs)
        checks.append(
            Check(id=f"{case['id']}-{AUGUST}", area=area, case=case, expect=expect, profile=Profile.OPENCLAW_2026_08)
        )
    return checks


def _changes(case: Fields) -> Fields | None:
    """What August changed of a result. A note alone tells people, and is no result."""
    differs = (case.get("differs") or {}).get(AUGUST)
    fields = {name: value for name, value in (differs or {}).items() if name != "note"}
    return None if differs is None or (differs and not fields) else fields


def profile_of(case: Fields) -> Profile:
    """August for what was seen in August only, else March."""
    verified = case.get("verified") or ()
    august = bool(verified) and all(entry == f"read:{AUGUST}" for entry in verified)
    august = august or str(case.get("note") or "").startswith(f"{AUGUST} only")
    return Profile.OPENCLAW_2026_08 if august else Profile.OPENCLAW


def changed(expect: Fields, differs: Fields) -> Fields:
    """What is expected after a change: some fields, or all when the one or the other is a whole result."""
    if any(word in fields for word in _WHOLE for fields in (expect, differs)):
        return differs
    return {**expect, **differs}


# -------------------------------------------------------------------- comparison


def difference(expect: Fields, actual: Fields) -> str | None:
    """What is not as expected, or none. Fields that are not expected do not count; absent and null are the same.

    A whole result (``{"parsed": null}``, ``{"error": ...}``) is not some fields: it is there or it is not.
    """
    whole = any(word in fields for word in _WHOLE for fields in (expect, actual))
    if whole and (wrong := set(expect) ^ {name for name in actual if name in expect or actual[name] is not None}):
        return f"expected {_shown(expect)} got {_shown(actual)} (only one has {', '.join(sorted(wrong))})"
    wrongs = [wrong for name, value in expect.items() for wrong in _wrongs(name, value, actual.get(name))]
    if not wrongs:
        return None
    wanted = ", ".join(f"{path}={_shown(value)}" for path, value, _ in wrongs)
    got = ", ".join(f"{path}={_shown(value)}" for path, _, value in wrongs)
    return f"expected {wanted} got {got}"


def _wrongs(path: str, expect: object, actual: object) -> Iterator[tuple[str, object, object]]:
    """The innermost values that differ, with where they are; 1 is neither true nor "1", absent and null are the same.

    Below the top every field counts, and lists have one length.
    """
    if isinstance(expect, Mapping) and isinstance(actual, Mapping):
        for name in dict.fromkeys((*expect, *actual)):
            yield from _wrongs(f"{path}.{name}", expect.get(name), actual.get(name))
    elif isinstance(expect, list | tuple) and isinstance(actual, list | tuple):
        for at, (one, other) in enumerate(zip_longest(expect, actual)):
            yield from _wrongs(f"{path}[{at}]", one, other)
        if len(expect) != len(actual):
            yield f"len({path})", len(expect), len(actual)
    elif isinstance(expect, bool) or isinstance(actual, bool):
        if expect is not actual:
            yield path, expect, actual
    elif expect != actual:
        yield path, expect, actual


def _shown(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


# -------------------------------------------------------------------- runs


def runner_of(area: str) -> Runner:
    """The `run` of an area. Raises `ImportError` when there is none (yet)."""
    return importlib.import_module(f"tests.conformance.{area}").run


def failure(check: Check) -> str | None:
    """Why a check fails, or none. Whatever the area raises is a failure of the check."""
    try:
        actual = runner_of(check.area)(check.case, check.profile)
    except Exception as error:  # noqa: BLE001 -- a case that cannot be run has failed, whatever the reason
        return f"expected {_shown(check.expect)} got {type(error).__name__}: {error}"
    return difference(check.expect, actual)
