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
from tools.doc_http import HTTP_TABLE
from trunkline.core.errors import TrunklineError
from trunkline.core.http.problems import TABLE, problem_of

PAGE = DOCS / "http.md"
EXAMPLES = [block for block in blocks(PAGE.read_text("utf-8")) if block.language == "sh" and "curl" in block.text]
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


def run_example(block: Block, server: tuple[str, str], folder: Path) -> str | None:
    """What is wrong with the answer to an example, or None."""
    url, token = server
    streams = "/v1/events" in block.text
    curl = CURL.replace("--max-time 20", "--max-time 2") if streams else CURL
    script = re.sub(r"^URL=.*$", f"URL={url}", block.text, flags=re.MULTILINE)
    script = re.sub(r"^TOKEN=.*$", f"TOKEN={token}", script, flags=re.MULTILINE)
    done = subprocess.run(
        ["bash", "-c", f"{curl}URL={url}\nTOKEN={token}\n{script}"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    # A stream goes on until the reader has enough: here, curl's own time limit.
    if done.returncode not in ((0, 28) if streams else (0,)):
        return f"{done.stdout}\n{done.stderr}"
    return None if done.stdout.strip() else "an example shows something"


@pytest.fixture(scope="module")
def problems(server: tuple[str, str], tmp_path_factory: pytest.TempPathFactory) -> dict[int, str | None]:
    """What is wrong with each example, by its line. A reader tries them from the top: later ones need earlier ones."""
    folder = tmp_path_factory.mktemp("reader")
    return {block.line: run_example(block, server, folder) for block in EXAMPLES}


@pytest.mark.skipif(shutil.which("curl") is None or shutil.which("bash") is None, reason="there is no curl, or no bash")
@pytest.mark.parametrize("line", [block.line for block in EXAMPLES], ids="line {}".format)
def test_an_example_is_answered(line: int, problems: dict[int, str | None]) -> None:
    assert problems[line] is None


def test_every_problem_that_http_makes_is_in_the_table() -> None:
    found: dict[str, int] = {}
    for path in sorted((ROOT / "core" / "http").rglob("*.py")):
        text = path.read_text("utf-8")
        made = re.findall(r"\bProblem\(\s*(\d{3}),\s*\"([\w-]+)\"", text)
        for status, slug in [*made, *(("503", slug) for slug in re.findall(r"\bunavailable\(\s*\"([\w-]+)\"", text))]:
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
