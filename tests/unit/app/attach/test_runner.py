"""Tries in processes of their own: what they leave behind when they fail, hang or are interrupted."""

import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from msgspec import structs

from tests.support.attach.cells import a_cell, a_gateway, once, twice
from tests.support.paths import ROOT
from trunkline.app.attach import runner
from trunkline.app.attach.cells import CellRecord
from trunkline.app.attach.runner import AttachProgress, TryRunner
from trunkline.app.attach.try_folder import TryFolder
from trunkline.core.events import write_trace


class Heard(AttachProgress):
    """What the runner reported."""

    def __init__(self, interrupt_after: float | None = None) -> None:
        super().__init__([], tries=1, more=0, jobs=1)
        self.lines: list[str] = []
        self._until = None if interrupt_after is None else time.monotonic() + interrupt_after

    def started(self, running):
        self.lines.append(f"started {running.number}")

    def finished(self, record, finished):
        self.lines.append(
            f"finished {finished.number} {'holds' if finished.run.holds else 'violated'} {finished.notes}"
        )

    def troubled(self, record, trouble):
        self.lines.append(f"troubled {trouble.problem} {trouble.log}")

    def look(self, running):
        if self._until is not None and time.monotonic() > self._until:
            raise KeyboardInterrupt


@pytest.fixture(autouse=True)
def _our_worker(monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(runner, "WORKER", "tests.support.attach.failing_worker")


def a_record_that(does: str) -> CellRecord:
    return CellRecord(cell=structs.replace(a_cell(), gateway=a_gateway(version=does)))


def play(tmp_path: Path, record: CellRecord, *, heard: Heard | None = None, tries: int = 1, keep: Path | None = None):
    heard = heard or Heard()
    folder = TryFolder(tmp_path / "report")
    runner = TryRunner(folder, tmp_path / "work", heard, keep=keep)
    try:
        runner.play([record], tries=tries, more=0, jobs=2)
    finally:
        folder.close()
    return heard, runner


def test_a_finished_try_is_judged_and_kept(tmp_path, monkeypatch):
    write_trace(tmp_path / "given.jsonl", once().trace)
    monkeypatch.setenv("TRACE_OF_WORKER", str(tmp_path / "given.jsonl"))
    record = a_record_that("plays")
    heard, _ = play(tmp_path, record, tries=3)
    assert sorted(line for line in heard.lines if line.startswith("finished")) == [
        "finished 1 holds ('a note',)",
        "finished 2 holds ('a note',)",
        "finished 3 holds ('a note',)",
    ]
    assert len(list(tmp_path.glob("report/tries/toy/plain/*/*.json"))) == 3
    assert list((tmp_path / "work").iterdir()) == []


@pytest.mark.parametrize(
    ("does", "said"),
    [
        ("dies", "troubled the process of the try ended with the code 9 ('·[31mout of memory',)"),
        ("babbles", "troubled the process of the try ended with the code 0 ()"),
        ("troubled", "troubled it does not start ('a line',)"),
    ],
)
def test_a_try_that_fails_is_tried_once_more_and_then_given_up(tmp_path, does, said):
    record = a_record_that(does)
    heard, _ = play(tmp_path, record, tries=5)
    assert [line for line in heard.lines if line.startswith("troubled")] == [said] * 2
    assert record.given_up and not record.finished
    assert list(tmp_path.glob("report/tries/*/*/*/*.json")) == []


def test_a_try_that_has_no_room_to_say_how_it_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(runner.shutil, "disk_usage", lambda _: SimpleNamespace(free=4096))
    heard, _ = play(tmp_path, a_record_that("babbles"))
    said = f"ended with the code 0: the disk of {tmp_path / 'work' / '0001'} is full, 4,096 bytes are free ()"
    assert heard.lines[1] == f"troubled the process of the try {said}"


def test_a_try_that_hangs_is_killed_after_its_time(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "LONGEST", 0.5)
    monkeypatch.setattr(runner, "END_WITHIN", 0.2)
    monkeypatch.setattr(runner.WorkerProcess.wait, "__defaults__", (0.2,))
    heard, _ = play(tmp_path, a_record_that("hangs"))
    assert "troubled the try did not end within 0.5 s ()" in heard.lines


def test_an_interruption_leaves_no_process_and_no_half_try(tmp_path, monkeypatch):
    monkeypatch.setattr(runner.WorkerProcess.wait, "__defaults__", (0.2,))
    record = a_record_that("hangs")
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        play(tmp_path, record, heard=Heard(interrupt_after=0.5), tries=2)
    assert time.monotonic() - began < 20
    assert record.running == 0 and not record.finished
    assert list(tmp_path.glob("report/tries/*/*/*/*")) == []
    assert list((tmp_path / "work").iterdir()) == []


def test_the_folder_of_a_bad_try_is_moved_away(tmp_path, monkeypatch):
    write_trace(tmp_path / "given.jsonl", twice().trace)
    monkeypatch.setenv("TRACE_OF_WORKER", str(tmp_path / "given.jsonl"))
    record = a_record_that("plays")
    _, runner = play(tmp_path, record, keep=tmp_path / "kept")
    (kept,) = runner.kept
    assert kept.is_relative_to(tmp_path / "kept" / "toy" / "plain") and kept.is_dir()
