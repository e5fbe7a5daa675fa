"""The page about the HTTP API: its examples run against a real server, and its tables are complete."""

import re
import shutil
import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.support.pages import DOCS, Block, blocks
from tests.support.paths import ROOT
from tests.support.served import served_on_thread
from trunkline.core.errors import TrunklineError
from trunkline.core.http.problems import HTTP_TABLE, TABLE, problem_of

PAGE = DOCS / "http.md"
EXAMPLES = [
    pytest.param(block, id=f"line {block.line}")
    for block in blocks(PAGE.read_text("utf-8"))
    if block.language == "sh" and "curl" in block.text
]
#: curl as the page has it, but an answer with an error ends the example
CURL = 'set -eu\ncurl() { command curl --silent --show-error --fail-with-body --max-time 20 "$@"; }\n'


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[tuple[str, str]]:
    """The address and the token of a server."""
    state = tmp_path_factory.mktemp("server")
    config = state / "gateway.yaml"
    config.write_text(
        "accounts: [{channel: webchat}]\nagents: {main: {echo: {}}}\n"
        "gateway: {hands: {each: {archive: {worker: true}}}}\n"
    )
    with served_on_thread(state, config) as client:
        yield str(client.base_url), client.headers["Authorization"].removeprefix("Bearer ")


@pytest.mark.skipif(shutil.which("curl") is None or shutil.which("bash") is None, reason="there is no curl, or no bash")
@pytest.mark.parametrize("block", EXAMPLES)
def test_an_example_is_answered(block: Block, server: tuple[str, str], tmp_path: Path) -> None:
    url, token = server
    streams = "/v1/events" in block.text
    curl = CURL.replace("--max-time 20", "--max-time 2") if streams else CURL
    script = re.sub(r"^URL=.*$", f"URL={url}", block.text, flags=re.MULTILINE)
    script = re.sub(r"^TOKEN=.*$", f"TOKEN={token}", script, flags=re.MULTILINE)
    done = subprocess.run(
        ["bash", "-c", f"{curl}URL={url}\nTOKEN={token}\n{script}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    # A stream goes on until the reader has enough: here, curl's own time limit.
    allowed = (0, 28) if streams else (0,)
    assert done.returncode in allowed, f"{done.stdout}\n{done.stderr}"
    assert done.stdout.strip(), "an example shows something"


def test_every_problem_that_http_makes_is_in_the_table() -> None:
    found: dict[str, int] = {}
    for path in sorted((ROOT / "core" / "http").rglob("*.py")):
        for status, slug in re.findall(r"\bProblem\(\s*(\d{3}),\s*\"([\w-]+)\"", path.read_text("utf-8")):
            assert found.setdefault(slug, int(status)) == int(status), f"{slug} has two statuses"
    known = {slug: status for slug, (status, _) in HTTP_TABLE.items()}
    known |= {slug: status for status, slug in TABLE.values()}
    assert found.items() <= known.items()
    assert HTTP_TABLE.keys() - found.keys() <= {"invalid-body", "invalid-query", "unknown-channel"}, (
        "made by another name"
    )


def all_errors(error: type[TrunklineError] = TrunklineError) -> list[type[TrunklineError]]:
    return [error, *(one for sub in error.__subclasses__() for one in all_errors(sub))]


def test_every_error_of_ours_has_a_status_that_fits() -> None:
    for error in all_errors():
        if error.__module__ != "trunkline.core.errors" or error.__name__ == "AgentFailed":
            continue
        problem = problem_of(error("the facts"))
        assert 400 <= problem.status <= 599
        assert ("Retry-After" in problem.headers) == (problem.status == 503)
