"""What is damaged, newer or no state folder at all: it is named, and everything else is read."""

from pathlib import Path

import pytest

from tests.attach.openclaw.states import change, footprint, old_entry, queue_row, real_state, write_json
from trunkline.app.imports.openclaw.reading import read_state
from trunkline.app.report.openclaw_state import state_text
from trunkline.core.errors import UsageError


@pytest.mark.parametrize(
    ("entry", "status", "why"),
    [
        ("{", "pending", "no JSON"),
        ("[]", "pending", "no JSON object"),
        ('{"payloads": ' + "[" * 100_000, "pending", "no JSON"),
        ("{}", "sleeping", "unknown status 'sleeping'"),
        ("", "failed", "no JSON"),
    ],
    ids=["cut-off", "a-list", "nested-too-deep", "unknown-status", "empty"],
)
def test_one_bad_row_hides_no_other(tmp_path: Path, entry: str, status: str, why: str) -> None:
    folder = real_state("killed-when-accepted", tmp_path)
    queue_row(folder, "bad", entry, status=status)
    queue_row(folder, "good", old_entry())

    state = read_state(folder)

    assert [one.id for one in state.queue] == ["good", "9dc9d364-e559-4426-92df-90ad491ac509"]
    (unreadable,) = state.unreadable
    assert unreadable.where == "delivery_queue_entries bad"
    assert why in unreadable.why


def test_fields_of_another_kind_are_missing_fields(tmp_path: Path) -> None:
    folder = real_state("killed-when-accepted", tmp_path)
    entry = old_entry(
        to=["a"], payloads={"text": "x"}, retryCount="many", enqueuedAt="soon", preparedBatch=[1], session=3
    )
    queue_row(folder, "odd", entry, enqueued_at=0)

    (odd, _) = read_state(folder).queue

    assert (odd.place, odd.texts, odd.attempts, odd.enqueued) == (None, (), 0, None)
    assert not read_state(folder).unreadable


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    folder = real_state("killed-when-accepted", tmp_path)
    change(folder, "UPDATE delivery_queue_entries SET target = CAST(x'ff41' AS TEXT), entry_json = '{\"to\": 1}'")

    (entry,) = read_state(folder).queue

    assert entry.place is not None and entry.place.target == "\ufffdA"


def test_a_session_whose_entry_is_damaged_keeps_its_key_and_places(tmp_path: Path) -> None:
    folder = real_state("topic-deleted", tmp_path)
    change(folder, "UPDATE session_nodes SET entry_json = '{'", database="agents/main/agent/openclaw-agent.sqlite")

    state = read_state(folder)

    (session,) = state.sessions
    assert session.key == "agent:main:telegram:group:-1003540094308:topic:161"
    assert [str(one) for one in session.places] == ["telegram:-1003540094308:topic:161"]
    assert [one.where for one in state.unreadable] == [f"session_nodes {session.key}"]


def test_a_file_that_is_no_database_is_listed_as_unreadable(tmp_path: Path) -> None:
    folder = real_state("topic-deleted", tmp_path)
    (folder / "state" / "openclaw.sqlite").write_bytes(b"not a database, " * 200)
    (folder / "state" / "openclaw.sqlite-wal").unlink(missing_ok=True)

    state = read_state(folder)

    assert [one.where for one in state.unreadable] == ["state/openclaw.sqlite"]
    assert "not a database" in state.unreadable[0].why
    assert len(state.sessions) == 1


def test_a_database_that_was_cut_off_is_listed_as_unreadable(tmp_path: Path) -> None:
    folder = real_state("topic-deleted", tmp_path)
    database = folder / "state" / "openclaw.sqlite"
    database.write_bytes(database.read_bytes()[:5000])

    state = read_state(folder)

    assert [one.where for one in state.unreadable] == ["state/openclaw.sqlite"]
    assert len(state.sessions) == 1


def test_a_newer_schema_is_read_and_said(tmp_path: Path) -> None:
    folder = real_state("topic-deleted", tmp_path)
    change(folder, "PRAGMA user_version = 99")

    state = read_state(folder)

    assert len(state.queue) == 1
    assert state.notes == (
        "state/openclaw.sqlite has the schema 99; this was tried up to 18, "
        "so what a newer OpenClaw has added is not shown",
    )


def test_tables_of_another_shape_are_named(tmp_path: Path) -> None:
    folder = real_state("topic-deleted", tmp_path)
    change(folder, "ALTER TABLE delivery_queue_entries RENAME COLUMN entry_json TO body")
    change(
        folder,
        "ALTER TABLE session_nodes RENAME COLUMN entry_json TO body",
        database="agents/main/agent/openclaw-agent.sqlite",
    )

    state = read_state(folder)

    assert [(one.where, one.why) for one in state.unreadable] == [
        ("delivery_queue_entries", "the table has no entry_json: another version of OpenClaw"),
        ("session_nodes", "the table has no entry_json: another version of OpenClaw"),
    ]
    assert "Not read (2): everything else was" in state_text(state)


def test_a_damaged_file_of_an_older_version_hides_no_other(tmp_path: Path) -> None:
    write_json(tmp_path / "delivery-queue" / "good.json", old_entry())
    (tmp_path / "delivery-queue" / "bad.json").write_bytes(b"{\xff")
    (tmp_path / "delivery-queue" / "link.json").symlink_to(tmp_path / "nowhere")
    (tmp_path / "delivery-queue" / "half.json.123.tmp").write_text("{")
    write_json(tmp_path / "agents" / "main" / "sessions" / "sessions.json", {"agent:main:main": 7, "agent:main:a": {}})
    before = footprint(tmp_path)

    state = read_state(tmp_path)

    assert [one.id for one in state.queue] == ["good"]
    assert [one.key for one in state.sessions] == ["agent:main:a"]
    assert [one.where for one in state.unreadable] == [
        "delivery-queue/bad.json",
        "agents/main/sessions/sessions.json agent:main:main",
    ]
    assert footprint(tmp_path) == before


def test_what_is_no_state_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "empty").mkdir()

    for name, said in (("file", "a file; name the state folder"), ("nowhere", "no such folder"), ("empty", "no state")):
        with pytest.raises(UsageError, match=said):
            read_state(tmp_path / name)


def test_the_folder_of_the_user_will_do(tmp_path: Path) -> None:
    real_state("topic-deleted", tmp_path / ".openclaw")

    assert len(read_state(tmp_path).sessions) == 1
