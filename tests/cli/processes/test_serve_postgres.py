"""``trunkline serve`` and the operators' commands with a store on a PostgreSQL server."""

import contextlib
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from tests.support.postgres import PASSWORD, URL_PASSWORD, Server, running
from tests.support.serve.processes import PATIENCE, ServeProcess, ask, say, serve, token_of, wait_for

CONFIG = """
store: {env: STORE}
http: {token_file: token}
agents: {main: {echo: {}}}
accounts: [{channel: webchat}]
gateway: {delivery: {request_timeout: 1s, lease: 3s}}
"""


@pytest.fixture(scope="module")
def server() -> Generator[Server]:
    with running() as started:
        yield started


@contextlib.contextmanager
def gateway(folder: Path, url: str) -> Generator[ServeProcess]:
    (folder / "g.yaml").write_text(CONFIG)
    arguments = ("--config", "g.yaml", "--port", "0", "--state", "state")
    with serve(folder, *arguments, environ={"STORE": url}) as made:
        yield made


def texts(answer: dict[str, list[dict[str, str]]]) -> list[str]:
    return [payload["text"] for payload in answer["outbound_payloads"]]


@pytest.fixture
def command(trunkline: Callable[..., tuple[int, str, str]]) -> Callable[..., tuple[int, str]]:
    """Exit code and all output of a command; a password is never in it."""

    def run(*arguments: str) -> tuple[int, str]:
        code, out, err = trunkline(*arguments)
        for said in (out, err):
            assert PASSWORD not in said
            assert URL_PASSWORD not in said
        return code, out + err

    return run


Command = Callable[..., tuple[int, str]]


def test_a_standby_takes_over_from_a_killed_gateway(server: Server, tmp_path: Path, command: Command) -> None:
    url = server.url()
    with gateway(tmp_path, url) as first, contextlib.ExitStack() as stack:
        first.ready()
        second = stack.enter_context(gateway(tmp_path, url))
        token = ""
        for n, (owner, other) in enumerate([(first, second), (second, None)]):
            owner.ready()
            token = token_of(tmp_path, "token")
            status, answer = say(owner.url, token, f"hello {n}", f"m{n}")
            assert (status, texts(answer)) == (200, [f"hello {n}"])
            # What the other gateway answered is answered again, and not done again.
            status, answer = say(owner.url, token, "hello 0", "m0")
            assert (status, texts(answer)) == (200, ["hello 0"])
            if other is not None:
                other.logged("holds the store: this process stands by")
                killed = time.monotonic()
                owner.kill()
                wait_for(lambda other=other: ask(f"{other.url}/v1/health/ready")[0] == 200, lambda: second.log)
                assert time.monotonic() - killed < 3.0, "a killed holder is replaced before its lease expires"
        second.signal(signal.SIGTERM)
        assert second.ended() == 0
        for said in (first.log + first.output, second.log + second.output):
            assert PASSWORD not in said
            assert URL_PASSWORD not in said
    code, said = command("queue", "list", "--state", "delivered", "--json", "--store", url)
    assert (code, len(json.loads(said)["intents"])) == (0, 2), said


def test_a_frozen_gateway_is_replaced_and_ends(server: Server, tmp_path: Path) -> None:
    url = server.url()
    with gateway(tmp_path, url) as holder, contextlib.ExitStack() as stack:
        holder.ready()
        other = stack.enter_context(gateway(tmp_path, url))
        other.logged("stands by")
        holder.signal(signal.SIGSTOP)
        frozen = time.monotonic()
        other.ready()
        assert time.monotonic() - frozen < 3.0 + 2.0
        holder.signal(signal.SIGCONT)
        assert holder.ended() != 0
        assert "another process has taken over the store" in holder.log


def test_operators_work_with_a_store_on_a_server(server: Server, tmp_path: Path, command: Command) -> None:
    url = server.url()
    with gateway(tmp_path, url) as made:
        made.ready()
        assert say(made.url, token_of(tmp_path, "token"), "hello", "m1")[0] == 200
        code, said = command("transcript", "--store", url)
        assert code == 0
        session = said.split()[0]
        code, said = command("transcript", session, "--store", url)
        assert [json.loads(line).get("text") for line in said.splitlines()][-2:] == ["hello", "hello"]
        code, said = command("bindings", "unbind", "b1", "--store", url)
        assert code == 1
        assert "works the store: have it unbind" in said
        assert command("transcript", "erase", "--person", "webchat:ana", "--store", url)[0] == 1
        made.signal(signal.SIGTERM)
        assert made.ended() == 0
    code, said = command("queue", "list", "--store", url)
    assert code == 0
    assert "1 delivered" in said
    assert command("hands", "list", "--store", url)[0] == 0
    assert command("hands", "take", "archive", "--json", "--store", url)[0] in (0, 1)
    assert command("bindings", "list", "--store", url)[0] == 0
    code, said = command("transcript", "erase", "--person", "webchat:ana", "--store", url)
    assert code == 0, said
    assert command("transcript", "--store", url)[1].strip() in ("", "no sessions")
    code, said = command("queue", "show", "nothing", "--store", url)
    assert code == 2


def test_what_makes_no_sense_for_a_server_is_said(server: Server, tmp_path: Path, command: Command) -> None:
    url = server.url()
    for arguments in (["check", url], ["backup", url, "x"], ["restore", "x", url]):
        code, said = command("store", *arguments)
        assert (code, "pg_dump" in said) == (2, True)
    assert "name the address of that" in command("watch", url)[1]
    code, said = command("queue", "list", "--store", url)
    assert code == 2
    assert "no gateway has used it" in said
    (tmp_path / "g.yaml").write_text(f"store: {url}\n")
    code, said = command("serve", "--config", str(tmp_path / "g.yaml"), "--check")
    assert code == 2
    assert "`store` has a password" in said


def test_without_its_driver_nothing_else_needs_it() -> None:
    code = (
        "import sys; sys.modules['psycopg'] = None; import trunkline.core.errors, trunkline.app.cli\n"
        "from trunkline.core.store.postgres.store import connect_server\n"
        "try:\n    connect_server('postgresql://db.example.org/chat')\n"
        "except trunkline.core.errors.UsageError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert "pip install 'trunkline[postgres]'" in done.stdout, done.stderr
