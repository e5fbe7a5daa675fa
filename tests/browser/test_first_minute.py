"""What a newcomer does: one command, and then a talk in the browser."""

import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.chat_page import CHROMIUM, PATIENCE, ROOT, chromium


@contextmanager
def serve(state: Path) -> Generator[tuple[str, Path]]:
    """`trunkline serve` without a configuration: its address, and the file of its token."""
    command = [sys.executable, "-m", "trunkline", "serve", "--port", "0", "--state", str(state)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        try:
            assert server.stdout is not None
            url = server.stdout.readline().split()[-1]
            token = Path(server.stdout.readline().split(" ", 4)[-1].strip())
            yield url, token
        finally:
            server.send_signal(signal.SIGTERM)
            try:
                assert server.wait(PATIENCE) == 0
            except subprocess.TimeoutExpired:
                server.kill()
                raise


@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on PATH")
@pytest.mark.parametrize("start", ["one command" if CHROMIUM else "skipped: no chromium"])
def test_one_command_and_a_person_talks_to_the_echo(tmp_path: Path, start: str) -> None:
    del start
    with serve(tmp_path / "state") as (url, token), chromium() as browser:
        page = browser.new_page()
        page.set_default_timeout(PATIENCE * 1000)
        page.goto(url)
        page.fill("#token", token.read_text().strip())
        page.press("#token", "Enter")
        page.wait_for_selector("#state[data-state=connected]")
        page.fill("#text", "good morning")
        page.press("#text", "Enter")
        page.wait_for_selector(".message:not(.mine)")
        assert "good morning" in page.inner_text(".message:not(.mine) .bubble")
