"""A gateway that says that it will never be ready is not waited for, and not started again for the same end."""

import sys
import time

import pytest

from trunkline.sim.attach.process.gateway_log import GatewayLog

SCENARIOS = ("scenarios/attach/plain.yaml", "scenarios/attach/lost-answer.yaml")
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
    code, out, _ = trunkline("attach", *SCENARIOS, "--gateway", profile)
    assert (code, time.monotonic() - began < 15) == (2, True)
    assert out.count("will never be ready: it said could not prepare dependencies") == 1
    assert "1 scenario not tried: never could not be run" in out


@pytest.mark.skipif(sys.platform != "linux", reason="attempts to leave are seen in a network namespace, which is Linux")
def test_a_bot_with_the_address_of_the_real_platform_in_its_code_is_shown_the_way(trunkline, tmp_path):
    bot = tmp_path / "bot.py"
    bot.write_text("import urllib.request\nurllib.request.urlopen('https://api.telegram.org/bot1:a/getUpdates')\n")
    code, out, _ = trunkline("attach", *SCENARIOS, "--command", f"{sys.executable} {bot}")
    assert code == 2
    assert "ended with the code 1 before it was ready; it wanted to reach api.telegram.org: it has to take" in out
    assert "such as TELEGRAM_API_ROOT" in out


def test_a_line_that_comes_in_pieces_is_found(tmp_path):
    with GatewayLog(tmp_path / "log") as log:
        log.look_for("ready", "never")
        for piece in (b"it will ne", b"ver be\n", b"ready"):
            log.feed(piece)
        assert (log.found, log.dreaded) == (True, "it will never be")
