"""`trunkline web`: refusals without a server, and the real thing in a real browser."""

import base64
import importlib.util
import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tests.support.paths import ROOT
from trunkline.app.cli.options import Looks

SERVES = importlib.util.find_spec("textual_serve") is not None
if TYPE_CHECKING or SERVES:
    from tests.support.browser import CHROMIUM, chromium
    from trunkline.app.cli.run.web import command_of
else:
    CHROMIUM = None


def browser(name: str):
    """One case whose id says why it is skipped, where it is."""
    missing = "textual-serve" if not SERVES else "chromium" if CHROMIUM is None else ""
    reason = f"{missing} is not installed"
    return pytest.param(name, id=f"{name}-no-{missing}", marks=pytest.mark.skip(reason)) if missing else name


needs_server = pytest.mark.skipif(not SERVES, reason="textual-serve is not installed")


@contextmanager
def served(*arguments: str, folder: Path = ROOT):
    """The address of a running `trunkline web`; in the end it must go by itself."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "trunkline", "web", *arguments]
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            line = server.stdout.readline()
            found = re.search(r"http://127\.0\.0\.1:\d+", line)
            assert found is not None, line
            yield found[0]
        finally:
            server.send_signal(signal.SIGINT)
            try:
                assert server.wait(30) == 0
            except subprocess.TimeoutExpired:
                server.kill()
                raise


@pytest.mark.parametrize("case", [browser("tour")])
@pytest.mark.anyio
async def test_the_page_shows_the_violation_and_a_key_moves_the_cursor(case, tmp_path):
    with served() as url:
        async with chromium(tmp_path / "profile") as page:
            await page.open(url)
            text = await page.until("told-twice", "AUTO-PAUSED", "✗ D2")
            before = re.search(r"(\d+)/\d+", text)
            assert before is not None
            await page.press("[")
            after = await page.until(f"{int(before[1]) - 1}/", but="AUTO-PAUSED")
            assert "REWOUND" in after
            (tmp_path / "page.png").write_bytes(base64.b64decode(await page.picture()))
            # Fonts, scripts and styles are its own: nothing is asked of anybody else.
            assert page.asked and all(one.startswith((url, "data:", url.replace("http", "ws"))) for one in page.asked)


@needs_server
def test_only_pages_of_this_server_may_ask():
    with served("scenarios/tour") as url:
        assert "Trunkline" in urlopen(f"{url}/").read().decode()
        port = url.rsplit(":", 1)[1]
        for headers in ({"Host": "evil.example"}, {"Host": f"evil.example:{port}"}, {"Origin": "http://evil.example"}):
            with pytest.raises(HTTPError) as refused:
                urlopen(Request(f"{url}/ws", headers=headers))
            assert refused.value.code == 403
            refused.value.close()


@needs_server
def test_it_listens_on_loopback_only():
    with served() as url:
        port = int(url.rsplit(":", 1)[1])
        socket.create_connection(("127.0.0.1", port)).close()
        # Another address of the same machine: a server on all interfaces would answer there too.
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.2", port))


@needs_server
@pytest.mark.parametrize(
    ("arguments", "message"),
    {
        "no such file": (["nowhere.yaml"], "not a file or folder"),
        "no such theme": (["--theme", "nope"], "there is no theme 'nope'"),
        "no such trace": (["--trace", "no.jsonl"], "no.jsonl: No such file"),
        "both": (["scenarios", "--trace", "no.jsonl"], "exclude each other"),
        "no port": (["--port", "99999"], "port 99999 on 127.0.0.1"),
    }.values(),
)
def test_errors_are_reported_before_serving(trunkline, arguments, message):
    code, out, err = trunkline("web", *arguments)
    assert (code, out) == (2, "") and message in err and "Traceback" not in err


@needs_server
def test_a_taken_port_is_reported(trunkline):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code, out, err = trunkline("web", "--port", port)
    assert (code, out) == (2, "") and f"port {port} on 127.0.0.1: Address already in use" in err


def test_without_textual_serve_it_says_what_to_install():
    code = "import sys; sys.modules['textual_serve'] = None; sys.argv = ['trunkline', 'web']; "
    code += "from trunkline.app.cli import main; sys.exit(main())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "") and "trunkline[web]" in done.stderr


@needs_server
def test_names_with_blanks_and_quotes_stay_one_word():
    command = command_of((Path("it's here/a b.yaml"),), Looks(ascii=True, theme="textual-light"), trace=None)
    script = f'for word in {command}; do echo "$word"; done'
    words = subprocess.run(["sh", "-c", script], check=True, capture_output=True, text=True)
    assert words.stdout.splitlines()[1:] == [
        "-m",
        "trunkline",
        "it's here/a b.yaml",
        "--ascii",
        "--theme",
        "textual-light",
    ]
