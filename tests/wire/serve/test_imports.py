"""A process imports the libraries of the platforms that its configuration names, and no others."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT
from trunkline.core.adapters.config import PLATFORMS

#: platform -> an account, and the modules that only its adapter imports
ACCOUNTS: dict[str, tuple[str, frozenset[str]]] = {
    "telegram": ("{token: {env: TOKEN}}", frozenset({"telegram"})),
    "discord": ("{token: {env: TOKEN}}", frozenset({"discord"})),
    "slack": ("{bot_token: {env: TOKEN}, app_token: {env: TOKEN}}", frozenset({"slack_sdk"})),
    "matrix": (
        "{homeserver: 'http://127.0.0.1:1', user: '@bot:localhost', token: {env: TOKEN}}",
        frozenset({"mautrix"}),
    ),
    "signal": ("{number: '+15550001111'}", frozenset()),
    "whatsapp": (
        "{phone_number_id: '1', token: {env: TOKEN}, app_secret: {env: TOKEN}, verify_token: {env: TOKEN}}",
        frozenset(),
    ),
}
LIBRARIES = frozenset({"telegram", "discord", "slack_sdk", "mautrix"})
#: what only some adapters and the servers on the wire need
HEAVY = LIBRARIES | {"aiohttp", "openai", "textual"}

#: makes the parts of a server, as `trunkline serve` does before it listens
PARTS = """
import json, sys
from pathlib import Path
from trunkline.app.cli import commands
from trunkline.app.serve import process, server, settings
from trunkline.app.serve.parts import adapters_of
from trunkline.core.env import system_env
from trunkline.core.events import EventLog
from trunkline.core.store.sqlite.connection import connect_file
from trunkline.core.store.sqlite.store import SqliteStore

async def parts():
    made = settings.load_settings(Path(sys.argv[1]), environ={"TOKEN": "1:abcdefgh"})
    env = system_env()
    events = EventLog(env.now).recorder("gateway")
    adapters_of(made, SqliteStore(lambda: connect_file(made.store), events), env, events)

import anyio
anyio.run(parts)
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""


def imported(code: str, *arguments: str) -> frozenset[str]:
    """The top-level modules of a process at the end of its code, which prints them last."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return frozenset(json.loads(done.stdout.splitlines()[-1]))


def configuration(folder: Path, *platforms: str) -> str:
    path = folder / "gateway.yaml"
    lines = [f"  - {name}: {ACCOUNTS[name][0]}" for name in platforms] or ["  - channel: webchat"]
    path.write_text("\n".join(["accounts:", *lines, ""]))
    return str(path)


def test_every_platform_is_judged() -> None:
    assert set(ACCOUNTS) == set(PLATFORMS)
    assert frozenset[str]().union(*(libraries for _, libraries in ACCOUNTS.values())) == LIBRARIES


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_platform_imports_its_own_library_only(tmp_path: Path, platform: str) -> None:
    found = imported(PARTS, configuration(tmp_path, platform))
    assert found & LIBRARIES == ACCOUNTS[platform][1]


def test_without_platforms_no_library_is_imported(tmp_path: Path) -> None:
    assert imported(PARTS, configuration(tmp_path)) & HEAVY == frozenset()


def test_two_platforms_import_two_libraries(tmp_path: Path) -> None:
    found = imported(PARTS, configuration(tmp_path, "matrix", "signal", "telegram"))
    assert found & LIBRARIES == {"mautrix", "telegram"}


def test_the_library_imports_none() -> None:
    code = "import json, sys, trunkline\ntrunkline.Gateway\n" + _END
    assert imported(code) & (HEAVY | {"httpx", "starlette", "uvicorn"}) == frozenset()


def test_a_run_in_virtual_time_imports_no_servers() -> None:
    code = (
        "import json, sys\nsys.argv = ['trunkline', 'run', 'scenarios/tour/told-twice.yaml', '--json']\n"
        "from trunkline.app.cli import main\ntry:\n    main()\nexcept SystemExit:\n    pass\nprint()\n" + _END
    )
    assert imported(code) & HEAVY == frozenset()


_END = 'print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))\n'
