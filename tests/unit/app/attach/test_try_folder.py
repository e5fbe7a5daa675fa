"""The folder of a report: finished tries are kept, other files are never touched."""

import errno
from pathlib import Path

import pytest
from msgspec import structs

from tests.support.attach.cells import a_cell, a_gateway, finished, once, twice
from trunkline.app.attach.try_folder import MARKER, TryFolder
from trunkline.app.report import json_junit
from trunkline.core.errors import UsageError
from trunkline.core.events import write_trace


def keep(folder: TryFolder, number: int = 1, cell=None, run=None) -> None:
    cell = cell or a_cell()
    run = run or once()
    trace = folder.trace_path(cell, number)
    write_trace(trace, run.trace)
    folder.keep(cell, structs.replace(finished(run, number, 12.5), trace=trace, notes=("a note",)))


@pytest.fixture
def folder(tmp_path):
    found = TryFolder(tmp_path / "new" / "report")
    yield found
    found.close()


def test_finished_tries_are_found_again_in_order(folder: TryFolder):
    for number in (10, 2, 1):
        keep(folder, number)
    found = list(folder.finished(a_cell()))
    assert [one.number for one in found] == [1, 2, 10]
    assert found[0].seconds == 12.5 and found[0].notes == ("a note",)
    assert found[0].run.trace.events == once().trace.events
    assert found[0].run.verdicts, "verdicts are computed again"


def test_a_try_that_broke_off_does_not_count(folder: TryFolder):
    keep(folder, 1)
    write_trace(folder.trace_path(a_cell(), 2), twice().trace)
    assert [one.number for one in folder.finished(a_cell())] == [1]


def test_a_damaged_try_does_not_count_and_stops_nothing(folder: TryFolder):
    for number in (1, 2, 3):
        keep(folder, number)
    folder.trace_path(a_cell(), 1).write_bytes(b"not a trace\n")
    folder.trace_path(a_cell(), 2).with_suffix(".json").write_bytes(b"{")
    assert [one.number for one in folder.finished(a_cell())] == [3]


def test_another_version_begins_the_cell_again_and_loses_nothing(folder: TryFolder):
    keep(folder, 1)
    newer = structs.replace(a_cell(), gateway=a_gateway(version="2.0"))
    assert list(folder.finished(newer)) == []
    assert folder.others(newer) == 1 and folder.others(a_cell()) == 0
    keep(folder, 1, newer)
    assert len(list(folder.finished(a_cell()))) == len(list(folder.finished(newer))) == 1


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path):
    (tmp_path / "index.html").write_text("mine")
    with pytest.raises(UsageError, match="has other files, and is no report"):
        TryFolder(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["index.html"]
    assert (tmp_path / "index.html").read_text() == "mine"


def test_an_empty_folder_and_one_of_ours_will_do(tmp_path: Path):
    TryFolder(tmp_path).close()
    TryFolder(tmp_path).close()
    assert (tmp_path / MARKER).is_file()


@pytest.mark.parametrize(
    ("content", "match"),
    [(b"{}", "not written by"), (b"[1]", "not written by"), (b'{"trunkline_attach": 99}', "layout 99")],
)
def test_a_marker_of_something_else_is_refused(tmp_path: Path, content: bytes, match: str):
    (tmp_path / MARKER).write_bytes(content)
    with pytest.raises(UsageError, match=match):
        TryFolder(tmp_path)


def test_a_file_is_no_folder(tmp_path: Path):
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(UsageError, match=r"is a file|cannot be written there"):
            TryFolder(path)


def test_two_commands_never_write_into_one_folder(folder: TryFolder):
    with pytest.raises(UsageError, match="another `trunkline attach` writes there"):
        TryFolder(folder.folder)
    folder.close()
    TryFolder(folder.folder).close()


def test_a_full_disk_is_an_error_that_names_the_file(folder: TryFolder, monkeypatch):
    keep(folder, 1)

    def full(*_args: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(json_junit.Path, "write_bytes", full)
    with pytest.raises(UsageError, match=r"2\.json: No space left on device"):
        folder.keep(a_cell(), finished(once(), 2))
    monkeypatch.undo()
    assert [one.number for one in folder.finished(a_cell())] == [1]
