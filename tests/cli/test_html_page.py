"""`--html`: a page of a recorded run and of one that is run, and what is refused."""

import json
from xml.etree import ElementTree

import pytest

from tests.support.for_each import for_each

TOUR = "scenarios/tour/told-twice.yaml"


@pytest.fixture
def recorded(trunkline, tmp_path):
    path = tmp_path / "run.jsonl"
    trunkline("run", TOUR, "--bug", "own", "--trace", path)
    return path


def test_a_recorded_run_becomes_a_page(trunkline, recorded, tmp_path):
    page = tmp_path / "run.html"
    code, out, err = trunkline("report", recorded, "--html", page)
    assert (code, err) == (1, "")
    assert out.splitlines() == [
        "✗ told-twice                         seed 1 · violated: D2 R1 C3 · 101 events · bug hand-announces-too",
        f"page {page}: open it in a browser",
    ]
    assert page.read_text("utf-8").startswith("<!doctype html>\n")
    assert not list(tmp_path.glob("*.part"))


def test_the_page_of_a_run_is_named_by_junit_and_json(trunkline, tmp_path):
    page, junit, report = tmp_path / "run.html", tmp_path / "junit.xml", tmp_path / "run.json"
    code, out, _ = trunkline("run", TOUR, "--bug", "own", "--html", page, "--junit", junit, "--json", report)
    assert code == 0 and "shows D2 R1 C3" in out
    assert "announce prepared for discord/ops" in page.read_text("utf-8")
    [attached] = ElementTree.parse(junit).iter("system-out")
    assert attached.text == f"[[ATTACHMENT|{page}]]"
    assert json.loads(report.read_text())["page"] == str(page)


def test_without_a_page_junit_and_json_name_none(trunkline, tmp_path):
    trunkline("run", TOUR, "--junit", tmp_path / "junit.xml", "--json", tmp_path / "run.json")
    assert not list(ElementTree.parse(tmp_path / "junit.xml").iter("system-out"))
    assert "page" not in json.loads((tmp_path / "run.json").read_text())


def test_a_page_is_replaced_like_other_reports(trunkline, recorded, tmp_path):
    page = tmp_path / "run.html"
    page.write_text("old")
    assert trunkline("report", recorded, "--html", page)[0] == 1
    assert page.read_text("utf-8") != "old"


def test_the_trace_is_not_replaced_by_its_page(trunkline, recorded):
    before = recorded.read_bytes()
    code, out, err = trunkline("report", recorded, "--html", recorded)
    assert (code, out) == (2, "") and "this is the trace itself" in err
    assert recorded.read_bytes() == before


@for_each(
    ("arguments", "message"),
    [
        (("report", "{trace}", "--html", "{folder}/none/run.html"), "there is no folder"),
        (("run", TOUR, "--html", "{folder}/none/run.html"), "there is no folder"),
        (("report", "{trace}", "--html", "{folder}"), "Is a directory"),
        (("report", "{trace}", "--html", "{folder}/run.html", "--plain"), "exclude each other"),
        (("report", TOUR, "--html", "{folder}/run.html"), "it looks like a scenario"),
        (("report", "{folder}/none.jsonl", "--html", "{folder}/run.html"), "No such file"),
        (("run", "scenarios/seeds", "--html", "{folder}/run.html"), "--html is for a single run"),
        (("run", TOUR, "--seeds", "2", "--html", "{folder}/run.html"), "--html is for a single run, and this makes 2"),
        (("run", TOUR, "--bug", "all", "--html", "{folder}/run.html"), "not with --html"),
    ],
)
def test_what_cannot_be_a_page_is_refused_and_nothing_is_written(trunkline, recorded, tmp_path, arguments, message):
    folder = tmp_path / "pages"
    folder.mkdir(exist_ok=True)
    words = [word.format(trace=recorded, folder=folder) for word in arguments]
    code, out, err = trunkline(*words)
    assert (code, out) == (2, "") and message in err and "Traceback" not in err
    assert list(folder.iterdir()) == []
