"""A gateway with which a try cannot be played: a clear message, the end of its log, and no process left."""

import threading
import urllib.request
from pathlib import Path

import pytest

from tests.attach.play.tries import answers, bodies, kinds, scenario, toy, tried
from trunkline.core.events import Event
from trunkline.core.events.base import RunEnded
from trunkline.sim.attach.play import rest
from trunkline.sim.attach.play.gateway import GatewayTrouble
from trunkline.sim.attach.profile import GatewayProfile, ReadyWhen
from trunkline.sim.events.wire import WireCalled
from trunkline.sim.index.marks import AnswerMark

ASKED = 'at: 0s, id: one, as: ana, in: "telegram/@ana", say: "is it up?"'


def program(tmp_path: Path, text: str, **changes: object) -> GatewayProfile:
    """The toy profile with another program. `POLL` polls once."""
    poll = (
        "import os, time, urllib.request as u\n"
        "root = os.environ['TELEGRAM_API_ROOT'] + '/bot' + os.environ['TELEGRAM_BOT_TOKEN'] + '/'\n"
        "call = lambda what: u.urlopen(root + what).read()\n"
    )
    file = tmp_path / "gateway.py"
    file.write_text(poll + text)
    return toy().model_copy(update={"command": ("${python}", "-I", "-S", str(file)), **changes})


def broken(profile: GatewayProfile, *steps: str, patience: float = 1.5) -> tuple[GatewayTrouble, list[Event]]:
    """Why a try breaks off, and its events."""
    seen: list[Event] = []
    with pytest.raises(GatewayTrouble) as found:
        tried(*(steps or (ASKED,)), profile=profile, watch=seen.append, patience=patience)
    end = seen[-1].body
    assert isinstance(end, RunEnded)
    assert not end.at_rest
    assert found.value.what in end.cut
    return found.value, seen


def test_a_command_that_is_not_there_is_named(tmp_path: Path) -> None:
    trouble, _ = broken(toy().model_copy(update={"command": ("no-such-gateway",)}))
    assert trouble.what.startswith("toy did not start: ")
    assert "no-such-gateway" in trouble.what


def test_a_gateway_that_dies_at_its_start_is_quoted(tmp_path: Path) -> None:
    trouble, _ = broken(program(tmp_path, "print('no config'); raise SystemExit(3)"))
    assert trouble.what == "toy ended with the code 3 before it was ready"
    assert trouble.log == ("no config",)


def test_a_gateway_that_never_polls_lacks_a_connection(tmp_path: Path) -> None:
    trouble, _ = broken(program(tmp_path, "print('idle', flush=True); time.sleep(60)", start_within=2))
    assert trouble.what == "toy was not ready within 2 s: it lacks a connection to telegram"
    assert trouble.log == ("idle",)


def test_a_gateway_that_never_says_that_it_is_ready(tmp_path: Path) -> None:
    # What is waiting is handed out at once: without a pause a quick machine makes a flood of it.
    loop = "\nimport time\nwhile True: call('getUpdates?timeout=1'); time.sleep(0.02)"
    ready = ReadyWhen(log="all set")
    trouble, _ = broken(program(tmp_path, loop, start_within=2, ready=ready))
    assert "it lacks the line all set in its log" in trouble.what
    events = tried(ASKED, profile=program(tmp_path, f"print('all set', flush=True){loop}", ready=ready), patience=0.3)
    assert kinds(events, "gateway.ready") == ["gateway.ready"]


def test_a_gateway_that_does_not_come_back_is_quoted(tmp_path: Path) -> None:
    once = "\nif os.path.exists('once'): raise SystemExit('not again')\nopen('once', 'w')"
    text = f"{once}\nwhile True: call('getUpdates?timeout=1')"
    trouble, events = broken(program(tmp_path, text), ASKED, "at: 100ms, crash: {restart_after: 10ms}")
    assert trouble.log[-1] == "not again"
    assert kinds(events, "process.crashed", "gateway.launched")[-1] == "gateway.launched"


def test_a_last_poll_of_a_killed_gateway_does_not_hide_the_next_connection(tmp_path: Path) -> None:
    """The platform reads it only after the kill, as it may read whatever was on its way."""
    root = tmp_path / "root"
    text = f"open({str(root)!r}, 'w').write(root)\nwhile True: call('getUpdates?timeout=1')"
    polls: list[bytes] = []

    def poll() -> None:
        with urllib.request.urlopen(f"{root.read_text()}getUpdates?timeout=0") as response:
            polls.append(response.read())

    def watch(event: Event) -> None:
        if event.kind == "process.crashed":
            threading.Thread(target=poll).start()

    profile = program(tmp_path, text, start_within=5)
    # Nobody asks: an update that was handed out before makes a new connection anyway.
    events = tried("at: 0s, crash: {restart_after: 2s}", profile=profile, patience=0.3, watch=watch)
    assert polls
    assert kinds(events, "process.crashed", "gateway.launched", "gateway.ready")[2:] == [
        "process.crashed",
        "gateway.launched",
        "gateway.ready",
    ]


def test_a_gateway_that_ends_by_itself_is_started_again_only_if_watched(tmp_path: Path) -> None:
    profile = program(tmp_path, "call('getUpdates?timeout=0'); time.sleep(0.3); raise SystemExit('bye')")
    events = tried(ASKED, profile=profile, patience=0.5)
    assert kinds(events, "gateway.exited", "gateway.launched") == ["gateway.launched", "gateway.exited"]
    watched = scenario(ASKED, more="attach: {watched: 50ms, patience: 1s}")
    again = tried(file=watched, profile=profile, patience=0.5)
    assert kinds(again, "gateway.exited", "gateway.launched")[:3] == [
        "gateway.launched",
        "gateway.exited",
        "gateway.launched",
    ]


@pytest.fixture
def small_floods(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few requests are a flood, in a window that no slow machine outlasts."""
    monkeypatch.setattr(rest, "FLOOD", 200)
    monkeypatch.setattr(rest, "WITHIN", 1000.0)


@pytest.mark.usefixtures("small_floods")
def test_a_gateway_that_floods_the_platform_is_stopped(tmp_path: Path) -> None:
    text = "call('getUpdates?timeout=0')\nwhile True: call('getMe')"
    trouble, events = broken(program(tmp_path, text), patience=60.0)
    assert trouble.what.startswith("toy made 200 requests within 1000 s, 199 of them getMe")
    assert len(events) < 5000


def flood_of(tmp_path: Path, call: str) -> tuple[str, list[Event]]:
    """The message about a gateway that makes one call again and again, and the events of its try."""
    again = f"def again():\n  try: {call}\n  except OSError: pass\n"
    trouble, events = broken(
        program(tmp_path, f"{again}call('getUpdates?timeout=0')\nwhile True: again()"), patience=60.0
    )
    return trouble.what, events


@pytest.mark.usefixtures("small_floods")
def test_a_gateway_that_only_polls_in_a_tight_loop(tmp_path: Path) -> None:
    said, events = flood_of(tmp_path, "call('getUpdates?timeout=0')")
    assert said.startswith("toy made 200 requests within 1000 s, all of them getUpdates, at ")
    assert bodies(events, "wire.called") == []


@pytest.mark.usefixtures("small_floods")
def test_a_gateway_that_asks_for_models_in_a_tight_loop(tmp_path: Path) -> None:
    said, _ = flood_of(tmp_path, "u.urlopen(os.environ['OPENAI_BASE_URL'] + '/models').read()")
    assert "199 of them /v1/models" in said


@pytest.mark.usefixtures("small_floods")
def test_requests_for_what_is_not_there_are_recorded_and_counted(tmp_path: Path) -> None:
    said, events = flood_of(tmp_path, "u.urlopen(os.environ['TELEGRAM_API_ROOT'] + '/no/such/path')")
    assert "199 of them GET /no/such/path" in said
    assert {body.method for body in bodies(events, "wire.called") if isinstance(body, WireCalled)} == {
        "GET /no/such/path"
    }


def test_an_account_whose_token_is_revoked_keeps_its_old_one() -> None:
    revoke = "when: {event: wire.responded}, at: 0s, rotate: {platform: telegram, revoke: true}"
    later = 'when: {event: credential.rotated, delay: 100ms}, id: two, as: ana, in: "telegram/@ana", say: "and now?"'
    events = tried(ASKED, revoke, later, patience=0.6)
    assert kinds(events, "credential.rotated") == ["credential.rotated"]
    assert kinds(events, "wire.accepted") == ["wire.accepted"]


def test_a_rotated_token_reaches_the_next_process() -> None:
    rotate = "when: {event: wire.responded}, at: 0s, rotate: {platform: telegram}"
    crash = "at: 0s, crash: {when: {event: credential.rotated}, restart_after: 10ms}"
    later = 'when: {event: gateway.ready}, at: 0s, id: two, as: ana, in: "telegram/@ana", say: "and now?"'
    events = tried(ASKED, rotate, crash, later)
    assert kinds(events, "gateway.ready") == ["gateway.ready"] * 2
    assert answers(events) == [AnswerMark("one", 1), AnswerMark("two", 1)]
