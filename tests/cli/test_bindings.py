"""`trunkline bindings`: what is bound in a store, and unbinding while nobody works it."""

import contextlib
import json
import sqlite3
from pathlib import Path

import msgspec
import pytest

from tests.support.factories import room
from trunkline.core.reasons import Reason
from trunkline.core.records.bindings import SessionBindingRecord, TargetKind
from trunkline.core.states.binding import BindingEvent
from trunkline.core.store.commands import Bind, ChangeBinding
from trunkline.core.store.queries import FindBinding
from trunkline.core.store.sqlite.handlers import ask, execute
from trunkline.core.store.sqlite.migrate import migrate

BORN, NOW = 1_700_000_000.0, 1_700_000_000.0 + 3600


@pytest.fixture(autouse=True)
def _now(monkeypatch):
    monkeypatch.setattr("trunkline.app.operators.store_file.time.time", lambda: NOW)


@contextlib.contextmanager
def writing(path: Path):
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as raw:
        yield raw


@pytest.fixture
def store(tmp_path):
    path = tmp_path / "store.db"
    with writing(path) as raw:
        migrate(raw)
        for n in range(3):
            record = SessionBindingRecord(
                binding_id=f"b{n}",
                target_session_key="ops:main",
                target_kind=TargetKind.SESSION,
                conversation=room(f"50{n}"),
                bound_at=BORN,
                last_activity_at=BORN,
                idle_timeout=7200.0,
                label="desk\x1b[31m",
            )
            execute(raw, Bind(record=record, session=None, now=BORN))
        changes = {"reason": Reason.UNBOUND, "ended_at": NOW - 60}
        execute(raw, ChangeBinding(binding="b1", event=BindingEvent.END, changes=changes))
    return path


def state(path: Path) -> list[tuple[str, str]]:
    with writing(path) as raw:
        return raw.execute("SELECT id, status FROM bindings ORDER BY n").fetchall()


def test_a_list_has_what_is_bound_and_what_has_ended_where_asked_for(trunkline, store):
    code, out, err = trunkline("bindings", "list", "--store", store)
    assert (code, err) == (0, "")
    first, *lines = out.splitlines()
    assert first == "2 bindings"
    assert [line.split()[:4] for line in lines] == [
        ["active", "b0", "discord:default/500", "->"],
        ["active", "b2", "discord:default/502", "->"],
    ]
    assert all("ops:main" in line and "by operator" in line and "ends in 1h" in line for line in lines)
    assert "\x1b" not in out
    code, out, _ = trunkline("bindings", "list", "--store", store, "--ended")
    assert code == 0
    [line] = [line for line in out.splitlines() if " b1 " in line]
    assert line.startswith("ended (unbound)")
    assert line.endswith("ended 1m ago")


def test_machines_get_json_with_what_is_broken(trunkline, store):
    with writing(store) as raw:
        raw.execute("UPDATE bindings SET body = '?' WHERE id = 'b2'")
    code, out, err = trunkline("bindings", "list", "--store", store, "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["trunkline_bindings"] == 1
    assert [(one["id"], one["status"], one["expires_at"]) for one in found["bindings"]] == [
        ("b0", "active", BORN + 7200)
    ]
    assert found["bindings"][0]["conversation"] == {
        "channel": "discord",
        "account_id": "default",
        "conversation_id": "500",
    }
    assert list(found["broken"]) == ["b2"]
    assert found["holder"] is None


def test_a_binding_is_ended_where_nobody_works_the_store(trunkline, store):
    code, out, err = trunkline("bindings", "unbind", "b0", "--store", store)
    assert (code, err) == (0, "")
    assert out == "b0: discord:default/500 is no longer bound to ops:main\n"
    assert state(store) == [("b0", "ended"), ("b1", "ended"), ("b2", "active")]
    with writing(store) as raw:
        record = ask(raw, FindBinding(binding="b0"))
    assert record is not None
    assert (record.reason, record.ended_at) == (Reason.UNBOUND, NOW)
    code, out, _ = trunkline("bindings", "unbind", "b2", "--store", store, "--json")
    assert (code, json.loads(out)["unbound"]["status"]) == (0, "ended")


def test_a_reason_in_words_is_kept_beside_the_code(trunkline, store):
    code, out, err = trunkline(
        "bindings", "unbind", "b0", "--store", store, "--reason", "moved\x1b[31m to the new desk"
    )
    assert (code, err) == (0, "")
    code, out, err = trunkline("bindings", "list", "--store", store, "--ended")
    assert (code, err, "\x1b" in out) == (0, "", False)
    [line] = [line for line in out.splitlines() if " b0 " in line]
    assert line.startswith("ended (unbound: moved")
    assert "to the new desk)" in line
    [row] = [
        one
        for one in json.loads(trunkline("bindings", "list", "--store", store, "--ended", "--json")[1])["bindings"]
        if one["id"] == "b0"
    ]
    assert (row["reason"], row["metadata"]) == ("unbound", {"end_note": "moved\x1b[31m to the new desk"})


def test_a_gateway_that_runs_is_asked_itself(trunkline, store):
    with writing(store) as raw:
        raw.execute("UPDATE lease SET owner = 'gw on host', token = 4, until = ?", (NOW + 30,))
    before = state(store)
    code, out, err = trunkline("bindings", "unbind", "b0", "--store", store)
    assert (code, out) == (1, "")
    assert "gw on host works the store" in err
    assert "/unfocus" in err
    assert "nothing was changed" in err
    assert state(store) == before
    with writing(store) as raw:
        raw.execute("UPDATE lease SET until = ?", (NOW - 1,))
    assert trunkline("bindings", "unbind", "b0", "--store", store)[0] == 0


@pytest.mark.parametrize(
    ("name", "code", "words"), [("b1", 1, "b1 has ended already"), ("b9", 2, "no binding 'b9'"), ("b2", 1, "cannot be")]
)
def test_what_cannot_be_ended_is_reported(trunkline, store, name, code, words):
    with writing(store) as raw:
        raw.execute("UPDATE bindings SET body = '?' WHERE id = 'b2'")
    before = state(store)
    found, out, err = trunkline("bindings", "unbind", name, "--store", store)
    assert (found, out) == (code, "")
    assert words in err
    assert state(store) == before


def test_a_file_that_is_no_store_is_wrong_usage(trunkline, tmp_path):
    for command in (("list",), ("unbind", "b0")):
        code, out, err = trunkline("bindings", *command, "--store", tmp_path / "no.db")
        assert (code, out) == (2, "")
        assert "no such file" in err


def test_a_binding_without_an_end_says_none(trunkline, store):
    with writing(store) as raw:
        record = ask(raw, FindBinding(binding="b0"))
        assert record is not None
        body = msgspec.json.encode(msgspec.structs.replace(record, idle_timeout=0.0)).decode()
        raw.execute("UPDATE bindings SET body = ? WHERE id = 'b0'", (body,))
    _, out, _ = trunkline("bindings", "list", "--store", store)
    [line] = [line for line in out.splitlines() if " b0 " in line]
    assert "ends" not in line
