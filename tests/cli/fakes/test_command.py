"""The command: what it prints, what it refuses, and what it records."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.fakes.bot_calls import bot
from tests.support.for_each import for_each
from tests.support.wire.bench import MemoryCursors
from trunkline.app.fakes.client import FakesClient, FakesError, running_fakes
from trunkline.core.adapters.config import AccountConfig
from trunkline.core.adapters.factory import make_adapter
from trunkline.core.adapters.port import AdapterHost
from trunkline.core.agents.config import AgentImplementation
from trunkline.core.env import system_env
from trunkline.core.events import EventLog
from trunkline.core.events.trace import read_trace
from trunkline.sim.events import BODIES

#: a command with its arguments: its exit code, what it prints, and its complaints
Command = Callable[..., tuple[int, str, str]]

WORLD = """\
world:
  people: [zoe, yan]
  telegram: {rooms: {club: {threads: [news]}}}
script:
  - {at: 0s, as: zoe, in: telegram/club, say: "I am early"}
"""


def run(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "trunkline", "fakes", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, **options)


@for_each(
    ("arguments", "says"),
    [
        ([], "name the platforms: trunkline fakes --platforms telegram,discord"),
        (["--platforms", "telegrm"], "nearest valid word: 'telegram'"),
        (["--platforms", "telegram", "--port", "discord=80"], "the names are: telegram, control"),
        (["--platforms", "telegram", "--port", "telegram"], "from 1 to 65535"),
        (["--platforms", "telegram", "--port", "telegram=99999"], "from 1 to 65535"),
        (["--platforms", "telegram", "--port", "telegram=5000", "--port", "control=5000"], "has this port already"),
        (["missing.yaml"], "missing.yaml"),
        (["--platforms", "telegram", "--record", "missing/x.jsonl"], "missing/x.jsonl"),
    ],
)
def test_wrong_usage_is_named_before_anything_starts(trunkline: Command, arguments: list[str], says: str) -> None:
    code, out, err = trunkline("fakes", *arguments)
    assert (code, out) == (2, "")
    assert says in err
    assert "Traceback" not in err


@for_each(
    ("change", "says"),
    [
        (("say:", "sya:"), "world.yaml:5:42: script[0].sya"),
        (('as: zoe, in: telegram/club, say: "I am early"', "crash: {}"), "`crash` needs a gateway of Trunkline"),
        (("  telegram", "  telegrm"), "telegrm"),
        (("telegram: {rooms: {club: {threads: [news]}}}", "voice: {}"), "world.yaml"),
    ],
)
def test_a_wrong_world_is_named_with_its_line(
    trunkline: Command, tmp_path: Path, change: tuple[str, str], says: str
) -> None:
    (tmp_path / "world.yaml").write_text(WORLD.replace(*change))
    code, _, err = trunkline("fakes", tmp_path / "world.yaml")
    assert code == 2
    assert says in err


def test_a_world_of_a_file_and_its_script(tmp_path: Path) -> None:
    (tmp_path / "world.yaml").write_text(WORLD)
    with running_fakes(world=tmp_path / "world.yaml") as client:
        assert client.overview["people"] == ["zoe", "yan"]
        assert [one["text"] for one in client.wait(1, place="club")] == ["I am early"]
        assert client.say("yan", "club/news", "me too", id="mine") == "mine"
        with pytest.raises(FakesError, match="a message 'mine' already"):
            client.say("yan", "club/news", "me too", id="mine")


@pytest.mark.slow
def test_what_is_printed_can_be_pasted_and_what_happens_is_shown(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "trunkline", "fakes", "--platforms", "telegram,model", "--record", "wire.jsonl"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    head: list[str] = []
    while "Ctrl-C ends it." not in head:
        head.append(process.stdout.readline().rstrip("\n"))
    control = next(line.split()[1] for line in head if line.startswith("control"))
    client = FakesClient(control)
    start = head.index("for the file of `trunkline serve`:") + 2
    pasted = ["hands: {}", *head[start : head.index("", start)]]
    config = yaml.safe_load("\n".join(pasted))
    [account] = config["accounts"]
    assert AccountConfig.model_validate(account).on == "telegram"
    assert AgentImplementation.model_validate(config["agents"]["main"]).openai is not None
    assert f"  export TELEGRAM_TOKEN={client.token('telegram')}" in head
    client.say("ana", "telegram/ops", "hi \x1b[31m there")
    bot(client, "getUpdates", timeout=5)
    client.reset()
    client.say("ana", "telegram/ops", "after the reset")
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    assert "ana says" in rest
    assert "\x1b" not in rest
    assert "recorded: wire.jsonl, wire-2.jsonl" in rest
    for name in ("wire.jsonl", "wire-2.jsonl"):
        assert BODIES
        trace = read_trace(tmp_path / name)
        assert {event.kind for event in trace.events} >= {"world.place", "peer.said", "run.ended"}
        report = [sys.executable, "-m", "trunkline", "report", str(tmp_path / name)]
        done = subprocess.run(report, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stdout
        assert "all hold" in done.stdout


def test_a_taken_port_is_named(trunkline: Command, fakes: FakesClient) -> None:
    port = fakes.url("telegram").rpartition(":")[2]
    code, _, err = trunkline("fakes", "--platforms", "telegram", "--port", f"telegram={port}")
    assert code == 2
    assert "choose another one with --port" in err


@pytest.mark.slow
def test_without_the_server_library_the_extra_is_named(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.util as util\nfind = util.find_spec\n"
        "util.find_spec = lambda name, *more: None if name == 'aiohttp' else find(name, *more)\n"
    )
    done = run("--platforms", "telegram", env={**os.environ, "PYTHONPATH": str(tmp_path)})
    assert done.returncode == 2
    assert "pip install 'trunkline[fakes]'" in done.stderr


@pytest.mark.slow
def test_a_client_of_fakes_that_do_not_start_says_why() -> None:
    with pytest.raises(RuntimeError, match="nearest valid word: 'telegram'"), running_fakes("telegrm"):
        pass


ROOT = Path(__file__).parents[3]
_ENV = re.compile(r"\{env: (\w+)\}")
EVERY = ("telegram", "discord", "slack", "matrix", "signal", "whatsapp")


@pytest.mark.slow
def test_every_platform_has_settings_with_which_its_adapter_is_made(tmp_path: Path) -> None:
    with running_fakes(*EVERY) as client:
        assert set(client.environment) == {
            name for page in (ROOT / "docs/platforms").glob("*.md") for name in _ENV.findall(page.read_text())
        } - {"SLACK_SIGNING_SECRET", "TELEGRAM_SECRET"}, "the pages name the same variables"
        for platform, section in zip(EVERY, client.accounts, strict=True):
            account = AccountConfig.model_validate(section)
            host = AdapterHost(
                account="default",
                env=system_env(),
                cursors=MemoryCursors(),
                events=EventLog(lambda: 0.0).recorder("gateway"),
                folder=tmp_path,
                environ=client.environment,
            )
            assert make_adapter(account, host).channel == platform
            said = client.say("ana", f"{platform}/ops", "hi")
            assert said
        assert [one["place"] for one in client.messages()] == [f"{platform}/ops" for platform in EVERY]


@pytest.mark.slow
def test_a_platform_that_calls_its_bots_asks_the_address_first() -> None:
    with running_fakes("whatsapp", "telegram") as client:
        with pytest.raises(FakesError, match="does not answer the question") as caught:
            client.call("POST", "/webhooks/whatsapp", {"url": f"{client.url('telegram')}/nothing"})
        assert caught.value.status == 409
        for platform, body, status in (
            ("telegram", {"url": "http://127.0.0.1:1/"}, 404),
            ("whatsapp", {"url": "https://example.org/hook"}, 400),
            ("whatsapp", {}, 400),
        ):
            with pytest.raises(FakesError) as caught:
                client.call("POST", f"/webhooks/{platform}", body)
            assert caught.value.status == status
