"""Every case of the tables is one test; and the comparison itself can fail."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.__main__ import main
from tests.conformance.tables import (
    AREAS,
    FOLDER,
    Check,
    TableError,
    area_of,
    changed,
    checks_of,
    difference,
    failure,
    load,
    profile_of,
)
from tests.support.for_each import for_each
from trunkline.core.profile_rules import Profile

#: cases of the tables that are shorter than the others
LEAST = {"mirror_text": 23, "cross_context_policy": 27, "heartbeat_targets": 27}
CHECKS = [check for area in AREAS for check in load(FOLDER / f"{area}.json", also_august=True)]


@for_each("check", CHECKS, ids=[check.id for check in CHECKS])
def test_the_case_holds(check: Check) -> None:
    wrong = failure(check)
    assert wrong is None, wrong


def test_no_case_is_left_out() -> None:
    found = {area: sum(check.area == area for check in CHECKS) for area in AREAS}
    assert {area: count >= LEAST.get(area, 28) for area, count in found.items()} == dict.fromkeys(AREAS, True)
    assert len({check.id for check in CHECKS}) == len(CHECKS)


# -------------------------------------------------------------------- comparison


@for_each(
    ("expect", "actual", "says"),
    [
        ({"a": 1}, {"a": 2}, "expected a=1 got a=2"),
        ({"a": 1, "b": 2}, {"a": 1}, "expected b=2 got b=null"),
        ({"a": None}, {"a": 1}, "expected a=null got a=1"),
        ({"a": 42}, {"a": "42"}, 'expected a=42 got a="42"'),
        ({"a": 1}, {"a": True}, "expected a=1 got a=true"),
        ({"a": {"b": 1}}, {"a": {"b": 1, "c": 2}}, "expected a.c=null got a.c=2"),
        ({"a": ["x"]}, {"a": ["x", "y"]}, 'expected a[1]=null, len(a)=1 got a[1]="y", len(a)=2'),
        ({"a": [{"b": [1]}]}, {"a": [{"b": [2]}]}, "expected a[0].b[0]=1 got a[0].b[0]=2"),
        ({"a": [None]}, {"a": []}, "expected len(a)=1 got len(a)=0"),
        ({"a": {"b": 1}}, {}, 'expected a={"b": 1} got a=null'),
        ({"parsed": None}, {"agent_id": "main"}, "(only one has agent_id, parsed)"),
        ({"agent_id": "main"}, {"parsed": None}, "(only one has agent_id)"),
        ({"route": None}, {"error": "boom"}, "(only one has error, route)"),
        ({"parent": None}, {"error": "boom"}, "(only one has error, parent)"),
        ({"error": "one"}, {"error": "other"}, 'expected error="one" got error="other"'),
    ],
)
def test_a_difference_is_reported(expect: dict[str, Any], actual: dict[str, Any], says: str) -> None:
    assert says in (difference(expect, actual) or "")


@for_each(
    ("expect", "actual"),
    [
        ({"a": 1}, {"a": 1, "b": 2}),
        ({"a": None}, {}),
        ({"a": {"b": 1, "c": None}}, {"a": {"b": 1}}),
        ({"a": ("x",)}, {"a": ["x"]}),
        ({"parsed": None}, {"parsed": None}),
        ({"error": "one"}, {"error": "one", "route": None}),
    ],
)
def test_what_is_as_expected_is_no_difference(expect: dict[str, Any], actual: dict[str, Any]) -> None:
    assert difference(expect, actual) is None


def test_an_area_that_raises_or_is_missing_fails_its_case() -> None:
    case = {"id": "x", "given": {"op": "no such"}, "expect": {"a": 1}}
    fields: dict[str, Any] = {"id": "x", "case": case, "expect": {"a": 1}, "profile": Profile.OPENCLAW}
    assert "unknown op 'no such'" in (failure(Check(area="session_keys", **fields)) or "")
    assert "ModuleNotFoundError" in (failure(Check(area="no_area", **fields)) or "")


@for_each(
    ("expect", "says"),
    [
        ({"properties": {"max_chunk_length": 2}}, "got properties.max_chunk_length=3"),
        ({"properties": {"min_chunk_count": 4}}, "got properties.min_chunk_count=3"),
        ({"properties": {"max_chunk_count": 2}}, "got properties.max_chunk_count=3"),
        ({"properties": {"every_chunk_starts_with": "~"}}, 'got properties.every_chunk_starts_with="ab"'),
        ({"properties": {"every_chunk_ends_with": "~"}}, 'got properties.every_chunk_ends_with="ab"'),
        ({"properties": {"balanced_fences": True}}, "got properties.balanced_fences=false"),
        ({"properties": {"joined_equals_text": True}}, "got properties.joined_equals_text=false"),
        ({"properties": {"unheard_of": True}}, "unknown property 'unheard_of'"),
        ({"chunks": ["~~~ ", "cd", "ab"], "compare": "rstrip_each"}, 'chunks[1]="ab", chunks[2]="cd"'),
        ({"chunks": [], "compare": "unheard_of"}, "unknown comparison 'unheard_of'"),
        ({"chunks": ["~~~", "ab"]}, "len(chunks)=2"),
    ],
)
def test_a_wrong_chunk_is_reported(expect: dict[str, Any], says: str) -> None:
    case = {"id": "x", "given": {"text": "~~~\nab cd", "limit": 4, "chunker": "text"}, "expect": expect}
    check = Check(id="x", area="chunking", case=case, expect=expect, profile=Profile.OPENCLAW)
    assert says in (failure(check) or "")


def test_blanks_at_the_end_of_chunks_count_unless_the_case_says_otherwise() -> None:
    case = {"id": "x", "given": {"text": "ab cd", "limit": 4, "chunker": "text"}, "expect": {"chunks": ["ab ", "cd\n"]}}
    strict = Check(id="x", area="chunking", case=case, expect=case["expect"], profile=Profile.OPENCLAW)
    assert failure(strict) is not None
    lax = {**case, "expect": {**case["expect"], "compare": "rstrip_each"}}
    assert failure(Check(id="x", area="chunking", case=lax, expect=lax["expect"], profile=Profile.OPENCLAW)) is None


# -------------------------------------------------------------------- versions


def test_what_was_seen_in_august_only_is_compared_with_august() -> None:
    assert profile_of({"verified": ["read:2026-08"]}) is Profile.OPENCLAW_2026_08
    assert profile_of({"note": "2026-08 only: x", "verified": ["exec:2026-03-26"]}) is Profile.OPENCLAW_2026_08
    assert profile_of({"verified": ["exec:2026-03-26", "read:2026-08"]}) is Profile.OPENCLAW
    assert profile_of({}) is Profile.OPENCLAW


def test_a_change_is_some_fields_or_the_whole_answer() -> None:
    assert changed({"a": 1, "b": 2}, {"b": None}) == {"a": 1, "b": None}
    assert changed({"a": 1}, {"route": None}) == {"route": None}
    assert changed({"error": "x"}, {"a": 1}) == {"a": 1}


def test_a_note_alone_is_no_change_of_a_result() -> None:
    case = {"id": "x", "given": {}, "expect": {"a": 1}, "differs": {"2026-08": {"note": "told to people"}}}
    assert [check.id for check in checks_of(case, "bindings", also_august=True)] == ["x"]
    case["differs"] = {"2026-08": {"note": "told to people", "a": 2}}
    assert [check.expect for check in checks_of(case, "bindings", also_august=True)] == [{"a": 1}, {"a": 2}]


def test_operations_of_an_area_are_known_in_a_file_of_any_name() -> None:
    path = FOLDER / "hidden.json"
    assert area_of(path, {"id": "x", "given": {"op": "announce_dispatch"}}) == "delivery_router"
    assert area_of(path, {"id": "x", "given": {"op": "main"}}) == "session_keys"
    assert area_of(path, {"id": "x", "given": {"clock_start": 0, "steps": []}}) == "bindings"


# -------------------------------------------------------------------- files


def write(folder: Path, name: str, content: object) -> Path:
    path = folder / name
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


GOOD = {"id": "k", "given": {"op": "main", "agent_id": "A"}, "expect": {"session_key": "agent:a:main"}}
BAD = {**GOOD, "id": "l", "expect": {"session_key": "agent:b:main"}}


def test_any_file_of_the_form_is_run_and_summed_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, "hidden.json", [GOOD, BAD])
    assert main([str(path)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        f'FAIL {path} l: expected session_key="agent:b:main" got session_key="agent:a:main"',
        "1 passed, 1 failed",
    ]
    assert main([str(write(tmp_path, "session_keys_more.json", [GOOD]))]) == 0


def test_what_august_changed_is_counted_when_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, "x.json", [{**GOOD, "differs": {"2026-08": {"session_key": "other"}}}])
    assert main([str(path)]) == 0
    assert main(["--also-2026-08", str(path)]) == 1
    assert "FAIL" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ({}, "expected a list of cases"),
        ([1], "expected an object with an id"),
        ([{"id": "x", "given": {}}], "expected the objects given and expect"),
        ([{"id": "x", "given": {"other": 1}, "expect": {}}], "no known area"),
    ],
)
def test_a_file_that_is_no_table_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: object, says: str
) -> None:
    assert main([str(write(tmp_path, "x.json", content))]) == 2
    assert says in capsys.readouterr().err


def test_a_file_that_is_not_there_or_no_json_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "none.json")]) == 2
    path = tmp_path / "text.json"
    path.write_text("{", encoding="utf-8")
    assert main([str(path)]) == 2
    errors = capsys.readouterr().err
    assert "No such file" in errors
    assert "not JSON" in errors


def test_the_area_is_known_by_name_or_by_what_is_given() -> None:
    assert area_of(Path("outbound-routes.json"), {"id": "x", "given": {}}) == "outbound_routes"
    shapes = {area: area_of(Path("x.json"), {"id": "x", "given": {field: 1}}) for area, field in AREAS.items()}
    assert shapes == {area: area for area in AREAS}
    with pytest.raises(TableError):
        area_of(Path("x.json"), {"id": "x", "given": {}})
