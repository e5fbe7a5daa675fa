"""Wrong use of `trunkline explain`, and that it agrees with simulated runs."""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from tests.support.cli.explanations import INBOUND, asked, explanation
from tests.support.paths import ROOT, SCENARIO_FILES
from trunkline.core.config import GatewayConfig
from trunkline.core.decisions import BOUND_TIER
from trunkline.core.events import Event
from trunkline.core.events.delivery import TargetResolved
from trunkline.core.events.gateway import ConfigReloaded, InboundReceived, RouteDecided
from trunkline.core.explain.decide import decide_inbound
from trunkline.sim import ScenarioFile, load_scenario, run_scenario

# ---------------------------------------------------------------- wrong use


SEND = ("explain", "send")


WRONG = {
    "no place": ((*SEND, "", "--channel", "slack"), "Not a target: '' on slack: it is empty. Accepted: "),
    "a control character": ((*SEND, "a\nb", "--channel", "telegram"), "it has control characters. Accepted: "),
    "ambiguous": ((*SEND, "12", "--channel", "discord"), "Ambiguous target: '12' on discord: write user:12"),
    "no such target": ((*SEND, "general", "--channel", "discord"), "'general' on discord"),
    "no channel": ((*SEND, "x", "--channel", " "), "the channel is missing"),
    "no such agent": ((*SEND, "user:1", "--channel", "discord", "--agent", "opz"), "no agent 'opz'; there are: main"),
    "a channel is needed": ((*SEND, "x"), "--channel"),
    "a target is needed": ((*SEND, "--channel", "discord"), "TARGET"),
    "no such kind": ((*SEND, "x", "--channel", "discord", "--kind", "house"), "house"),
    "a peer is needed": (("explain", "inbound", "--channel", "discord", "--kind", "direct"), "--peer"),
    "a blank peer": (
        ("explain", "inbound", "--channel", "discord", "--kind", "direct", "--peer", " "),
        "--peer is empty",
    ),
    "no such profile": ((*INBOUND, "--profile", "mine"), "mine"),
    "no configuration": ((*INBOUND, "--config", "none.yaml"), "none.yaml: cannot be read"),
    "a bad configuration": ((*INBOUND, "--config", "bad.yaml"), "bad.yaml:1:30: agents[0].default: expected true"),
    "no key": (("explain", "key", "what is this"), "Not a session key: 'what is this': expected one of <agent>:main"),
    "an empty key": (("explain", "key", ""), "Not a session key"),
    "no such command": (("explain", "snd"), "snd"),
}


@pytest.mark.parametrize(("arguments", "message"), WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
def test_wrong_usage_is_reported_and_exits_with_2(trunkline, tmp_path, monkeypatch, arguments, message, as_json):
    monkeypatch.chdir(tmp_path)
    Path("bad.yaml").write_text("agents: [{id: main, default: 7}]\n")
    code, out, err = trunkline(*arguments, *(["--json"] if as_json else []))
    assert (code, out) == (2, "")
    assert err.startswith("trunkline: ") and message in err
    assert "Traceback" not in err


def test_wrong_use_leads_to_the_help_of_the_command(trunkline):
    assert trunkline(*SEND, "x")[2].endswith("Try: trunkline explain send --help\n")


@pytest.mark.parametrize("command", [(), ("inbound",), ("send",), ("key",)])
def test_there_is_help(trunkline, command):
    code, out, err = trunkline("explain", *command, "--help")
    assert (code, err) == (0, "")
    assert "Usage: trunkline explain" in out


@pytest.mark.slow
def test_no_screen_and_no_simulator_is_imported(config):
    def loaded(*arguments: str) -> str:
        code = (
            "import sys\nfrom trunkline.app.cli import main\n"
            f"sys.argv = {['trunkline', *arguments]!r}\nassert main() == 0\n"
            "print([name for name in ('textual', 'faker', 'trunkline.sim') if name in sys.modules])"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
        return done.stdout.splitlines()[-1]

    assert loaded(*INBOUND) == loaded(*SEND, "user:1", "--channel", "discord") == "[]"
    assert loaded("explain", "key", "main:main") == "[]"
    assert loaded(*INBOUND, "--config", str(config)) == "[]"


# ---------------------------------------------------------------- asked and lived are the same


SCENARIOS = SCENARIO_FILES


def routed(file: ScenarioFile) -> list[tuple[GatewayConfig, InboundReceived, RouteDecided]]:
    """Every route of a run, with the message and the configuration that it was decided for."""
    configs = iter((file.scenario.gateway, *file.reloads))
    config, messages, found = next(configs), dict[str | None, InboundReceived](), []
    for event in run_scenario(file).trace.events:
        match event:
            case Event(body=ConfigReloaded()):
                config = next(configs)
            case Event(body=InboundReceived() as received, inbound=inbound):
                messages[inbound] = received
            case Event(body=RouteDecided() as decided, inbound=inbound):
                found.append((config, messages[inbound], decided))
            case _:
                pass
    return found


@pytest.mark.slow(every=20)
@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_explain_agrees_with_the_runs(path):
    file = load_scenario(path)
    for config, received, lived in routed(file):
        if lived.matched_by == BOUND_TIER:
            # What is bound is not in the configuration, which is all that is asked here.
            continue
        answer = decide_inbound(asked(file, received), config, near=True)
        assert msgspec.structs.replace(answer.decided, revision=lived.revision) == lived


@pytest.mark.slow
def test_that_there_is_something_to_compare():
    found = [one for path in SCENARIOS for one in routed(load_scenario(path))]
    assert len(found) > 60
    assert {decided.matched_by for _, _, decided in found} >= {"default", "binding.peer"}
    assert any(decided.reply_reason == "reply-in-opened-thread" for _, _, decided in found)


def test_the_command_resolves_a_target_as_the_run_did(trunkline):
    path = ROOT / "scenarios" / "faults" / "sent-by-clients.yaml"
    bodies = [event.body for event in run_scenario(load_scenario(path)).trace.events]
    resolved = [body for body in bodies if isinstance(body, TargetResolved)]
    assert resolved
    for body in resolved:
        answer = explanation(trunkline, "send", body.target, "--channel", body.channel, "--config", path)
        assert answer["session_key"] == body.session_key
        assert tuple(answer["steps"]) == body.steps
        assert answer["place"]["conversation"] == body.address.conversation
