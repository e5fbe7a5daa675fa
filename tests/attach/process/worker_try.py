"""A worker with a gateway of a few lines."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec

from tests.attach.process.programs import lives, program
from trunkline.core.events import read_trace
from trunkline.core.events.base import RunEnded
from trunkline.sim.attach.job import AttachJob, AttachOutcome

SCENARIO = """
scenario: 1
title: A question
world:
  people: [ana]
  telegram: {}
cast: {agents: {main: [{do: [{reply: "Done."}]}]}}
script:
  - {at: 0s, as: ana, in: "telegram/@ana", say: "hello"}
"""
#: connects, and never answers
POLLS = """
import urllib.request, json
api = os.environ["API"]
def call(method, **fields):
    url = f"{api}/bot{os.environ['TOKEN']}/{method}"
    data = json.dumps(fields).encode()
    return urllib.request.urlopen(urllib.request.Request(url, data, {"content-type": "application/json"})).read()
here("main")
forked("child")
call("getMe")
"""
#: takes every update, and answers none
FOREVER = """
offset = 0
while True:
    for update in json.loads(call('getUpdates', timeout=10, offset=offset))["result"]: offset = update["update_id"] + 1
"""


class WorkerTry:
    """A worker with a gateway of a few lines."""

    def __init__(self, folder: Path, body: str, *, scenario: str = SCENARIO, **profile: Any) -> None:
        self.folder, self.home = folder, folder / "try" / "home"
        command = list(program(folder, body))
        (folder / "profile.yaml").write_text(
            json.dumps(
                {
                    "profile": 1,
                    "name": "small",
                    "command": command,
                    "platforms": {
                        "telegram": {"environment": {"API": "${telegram.url}", "TOKEN": "${telegram.token}"}}
                    },
                    "environment": {"TZ": "UTC"},
                    "start_within": "15s",
                    "settle": "200ms",
                    "patience": "1s",
                    **profile,
                }
            )
        )
        (folder / "one.yaml").write_text(scenario)
        self.job = AttachJob(
            scenario=str(folder / "one.yaml"),
            profile=str(folder / "profile.yaml"),
            install=str(folder),
            folder=str(folder / "try"),
            trace=str(folder / "trace.jsonl"),
        )
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, command: list[str] | None = None, **options: Any) -> subprocess.Popen[bytes]:
        with (self.folder / "errors").open("wb") as errors:
            started: Any = subprocess.Popen(
                command or [sys.executable, "-m", "trunkline.sim.attach.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                **options,
            )
        process: subprocess.Popen[bytes] = started
        self.process = process
        assert process.stdin is not None
        process.stdin.write(msgspec.json.encode(self.job))
        process.stdin.close()
        return process

    def end(self) -> AttachOutcome:
        assert self.process is not None
        assert self.process.stdout is not None
        with self.process.stdout as out:
            printed = out.read()
        assert self.process.wait(30) == 0, (self.folder / "errors").read_text()
        return msgspec.json.decode(printed, type=AttachOutcome)

    def play(self, **options: Any) -> AttachOutcome:
        self.start(**options)
        return self.end()

    def events(self, kind: str) -> list[Any]:
        return [event.body for event in read_trace(self.folder / "trace.jsonl").events if event.kind == kind]

    def ended(self) -> RunEnded:
        (body,) = self.events("run.ended")
        return body

    def until_up(self, *names: str) -> None:
        deadline = time.monotonic() + 30
        while not all((self.home / f"{name}.up").exists() for name in names):
            assert time.monotonic() < deadline, (self.folder / "errors").read_text()
            time.sleep(0.02)

    def until_dead(self, *names: str) -> None:
        deadline = time.monotonic() + 10
        while any(lives(self.home, name) for name in names):
            assert time.monotonic() < deadline
            time.sleep(0.02)


def left_alive(folder: Path) -> list[str]:
    """The processes of a try that still live."""
    home = folder / "try" / "home"
    return [one.stem for one in home.glob("*.lock") if lives(home, one.stem)]
