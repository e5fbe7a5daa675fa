"""The commands of the pages for operators, typed one after another as they stand, around a real server."""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.pages import DOCS, blocks
from tests.support.serve.processes import PATIENCE, ServeProcess, say, serve, token_of

pytestmark = pytest.mark.skipif(
    shutil.which("curl") is None or shutil.which("bash") is None, reason="there is no curl, or no bash"
)

#: what the pages have beside them and a test has not: the service is a process of the test
AROUND = """
set -euo pipefail
journalctl() { echo "$@"; }
systemctl() {
    echo "systemctl $*"
    if [ "$1" = stop ]; then kill -TERM "$PID"; while readlink -q "/proc/$PID/exe" >/dev/null; do sleep 0.1; done; fi
}
"""


def commands(page: str, *words: str) -> list[str]:
    """The blocks of a page that have one of the words."""
    found = [block.text for block in blocks((DOCS / page).read_text("utf-8")) if block.language == "sh"]
    return [text for text in found if any(word in text for word in words)]


def typed(script: str, folder: Path, server: ServeProcess | None) -> str:
    """What commands print. Raises `AssertionError` if one fails."""
    places = {
        "/opt/trunkline/bin": str(Path(sys.executable).parent),
        "/var/lib/trunkline": str(folder / "state"),
        "http://127.0.0.1:8420": server.url if server else "http://127.0.0.1:1",
    }
    for place, own in places.items():
        script = script.replace(place, own)
    done = subprocess.run(
        ["bash", "-c", AROUND + script],
        cwd=folder,
        env={**os.environ, "PID": str(server.process.pid) if server else "", "PYTHONPATH": str(DOCS.parent)},
        capture_output=True,
        text=True,
        check=False,
        timeout=4 * PATIENCE,
    )
    assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="it waits for the end of a process that is not its own, by /proc")
def test_the_page_for_operators_is_followed(tmp_path: Path) -> None:
    begin, waiting, contract, copy, back = commands("operating.md", "trunkline ")
    with serve(tmp_path, "--port", "0", "--state", "state") as server:
        url = server.ready().url
        for n in range(2):
            assert say(url, token_of(tmp_path), f"text {n}", f"id-{n}")[0] == 200
        places = begin.split("\ntrunkline", 1)[0] + "\n"
        said = typed(begin, tmp_path, server)
        assert said.count("2 delivered") == 2, "asked by its file, and by its address"
        assert '{"status":"ready"}' in said
        assert "\ntrunkline_serving 1\n" in said
        assert "\n-u trunkline\n" in said
        assert "nothing was changed" in typed(places + waiting, tmp_path, server)
        # Also while a gateway of this version works.
        assert "nothing to migrate: " in typed(places + contract, tmp_path, server)
        said = typed(places + copy, tmp_path, server)
        assert re.search(r"^backed up: copy\.db, .*\nsound: copy\.db, ", said, re.MULTILINE)
        # What comes after the backup is not in it.
        assert say(url, token_of(tmp_path), "text 2", "id-2")[0] == 200
        said = typed(places + back, tmp_path, server)
        assert server.ended() == 0
        assert re.search(r"^systemctl stop trunkline\nrestored: .*\nsystemctl start trunkline$", said, re.MULTILINE)
    with serve(tmp_path, "--port", "0", "--state", "state") as server:
        url = server.ready().url
        answers = [say(url, token_of(tmp_path), f"text {n}", f"id-{n}")[1] for n in range(3)]
        assert [answer["duplicate"] for answer in answers] == [True, True, False]


def test_the_page_about_serving_is_followed(tmp_path: Path) -> None:
    (record,) = commands("serving.md", "--record traces\ntrunkline report")
    (erase,) = commands("serving.md", "transcript erase")
    (care,) = commands("serving.md", "trunkline store")
    start, report = record.splitlines()
    over_http, offline, erasures = erase.splitlines()
    path = f"PATH={Path(sys.executable).parent}:$PATH\n"
    options = start.removeprefix("trunkline serve ").split()
    with serve(tmp_path, *options, "--port", "0", "--state", ".") as server:
        url = server.ready().url
        assert say(url, token_of(tmp_path, "token"), "private words", "id-0")[0] == 200
        named = re.search(r"traces/gateway-\d{8}T\d{6}Z-\d+-\d{4}\.jsonl", report)
        (trace,) = (tmp_path / "traces").iterdir()
        assert named is not None
        assert re.fullmatch(named.re, f"traces/{trace.name}")
        assert "private words" in typed(path + report.replace(named[0], f"traces/{trace.name}"), tmp_path, server)
        restored = care.splitlines()[2]
        assert "restored" not in typed(path + care.replace(restored, ""), tmp_path, server)
        assert re.search("by owner: .* rows removed", typed(f"{path}{over_http} --token-file token", tmp_path, server))
        server.signal(signal.SIGTERM)
        assert server.ended() == 0
    assert " rows removed" in typed(path + offline, tmp_path, None)
    assert typed(path + erasures, tmp_path, None).count("rows removed") == 2
    for file in tmp_path.glob("gateway.db*"):
        file.unlink()
    assert typed(path + restored, tmp_path, None).startswith("restored: gateway.db, ")
