"""A gateway that says that it will never be ready is not waited for, and not started again for the same end."""

import time

import pytest

from trunkline.sim.attach.process.gateway_log import GatewayLog

PROFILE = """\
profile: 1
name: never
command: [sh, -c, "echo starting; echo 'could not prepare dependencies'; sleep 60"]
platforms: {telegram: {abilities: [threads]}}
start_within: 20s
WARM
ready: {never: "could not prepare"}
"""


@pytest.mark.parametrize("warm", ["warm_up: true", ""], ids=["in its first conversation", "in a try"])
def test_it_costs_no_wait_and_no_second_start(warm, trunkline, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    profile = tmp_path / "never.yaml"
    profile.write_text(PROFILE.replace("WARM", warm))
    began = time.monotonic()
    scenarios = ("scenarios/attach/plain.yaml", "scenarios/attach/lost-answer.yaml")
    code, out, _ = trunkline("attach", *scenarios, "--gateway", profile)
    assert (code, time.monotonic() - began < 15) == (2, True)
    assert out.count("will never be ready: it said could not prepare dependencies") == 1
    assert "not tried: never could not be run" in out


def test_a_line_that_comes_in_pieces_is_found(tmp_path):
    with GatewayLog(tmp_path / "log") as log:
        log.look_for("ready", "never")
        for piece in (b"it will ne", b"ver be\n", b"ready"):
            log.feed(piece)
        assert (log.found, log.dreaded) == (True, "it will never be")
