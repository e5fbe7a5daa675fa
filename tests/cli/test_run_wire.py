"""``trunkline run --wire`` at the command line."""

import json
from xml.etree import ElementTree

from trunkline.core.events import read_trace

PLAYED = "scenarios/museum/B066-history-has-the-whole-text.yaml"
LEFT_OUT = "scenarios/museum/B013-history-replayed.yaml"


def test_a_scenario_is_played_on_the_wire_and_what_does_not_fit_is_listed(trunkline, tmp_path):
    trace, report = tmp_path / "wire.jsonl", tmp_path / "report.json"
    code, out, err = trunkline("run", "--wire", PLAYED, "--trace", str(trace), "--json", str(report))
    assert (code, err) == (0, "")
    assert out.splitlines()[-1] == "1 run: all hold"
    recorded = read_trace(trace)
    assert recorded.header.on_wire
    assert any(event.kind == "adapter.connected" for event in recorded.events)
    assert json.loads(report.read_bytes())["runs"][0]["reproduce"].startswith(
        "trunkline run --wire scenarios/museum/B066"
    )
    code, out, _ = trunkline("report", str(trace))
    assert code == 0
    assert "on the wire" in out

    junit = tmp_path / "report.xml"
    code, out, _ = trunkline("run", "--wire", PLAYED, LEFT_OUT, "--junit", str(junit), "--json", str(report))
    assert code == 0
    assert list(json.loads(report.read_bytes())["not_on_the_wire"]) == ["B013-history-replayed"]
    (skipped,) = ElementTree.parse(junit).iter("skipped")
    assert "new ids" in skipped.attrib["message"]
    assert out.splitlines()[-1].startswith("B013-history-replayed: not on the wire: telegram with new ids")


def test_nothing_that_fits_is_an_error_that_says_why(trunkline):
    code, out, err = trunkline("run", "--wire", LEFT_OUT)
    assert (code, out) == (2, "")
    assert "B013-history-replayed: not on the wire: telegram with new ids" in err


def test_a_defect_is_caught_on_the_wire(trunkline):
    code, out, _ = trunkline("run", "--wire", PLAYED, "--bug", "whole-text-remembered", "--speed", "500")
    assert code == 1
    assert "violated" in out


def test_the_speed_goes_with_the_wire_and_has_bounds(trunkline):
    for arguments, says in (
        (("--speed", "10"), "--wire"),
        (("--wire", "--speed", "0"), "above 0"),
        (("--wire", "--speed", "1e9"), "at most 1000"),
    ):
        code, out, err = trunkline("run", PLAYED, *arguments)
        assert (code, out) == (2, "")
        assert says in err
