"""Many connections to ``trunkline serve`` that has 1,024 descriptors, while others want to be served."""

import contextlib
import errno
import json
import resource
import signal
import socket
import sys
from collections.abc import Generator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from websockets.sync.client import connect

from tests.support.serve.processes import PATIENCE, ask, say, serve, token_of, wait_for

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="every address of 127.0.0.0/8 is this machine on Linux")

MANY, DESCRIPTORS = 2000, 1024
CONFIG = "agents: {main: {echo: {}}}\n"
ARGUMENTS = ("--config", "g.yaml", "--port", "0", "--state", "state")


@pytest.fixture(autouse=True)
def _enough_descriptors() -> Generator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < MANY + 500:
        pytest.skip(f"the test opens {MANY} connections, and may open {hard} files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, MANY + 500), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


#: what a connection sends before it says nothing more
BEGINNINGS = {
    "nothing": b"",
    "half a head": b"GET /v1/health/live HTTP/1.1\r\nHost: 127.0.0.1\r\n",
    "a request": b"GET /v1/health/live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "half a body": b"POST /v1/chat/inbound HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 500\r\n"
    b"Content-Type: application/json\r\n\r\n{",
    "a socket without hello": b"GET /v1/chat/ws HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\n"
    b"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
}


@contextlib.contextmanager
def crowd(url: str, addresses: int, begin: bytes) -> Generator[None]:
    """Connections from so many addresses of this machine, which are held."""
    port = urlsplit(url).port
    assert port is not None
    with contextlib.ExitStack() as stack:
        for n in range(MANY):
            held = stack.enter_context(socket.socket())
            held.settimeout(PATIENCE)
            held.bind((f"127.0.0.{2 + n % addresses}", 0))
            held.connect(("127.0.0.1", port))
            # The server may have closed it for another one already.
            with contextlib.suppress(ConnectionError):
                held.sendall(begin)
        yield


@pytest.mark.parametrize("addresses", [1, 50])
@pytest.mark.parametrize("begin", BEGINNINGS)
def test_a_crowd_keeps_nobody_out(tmp_path: Path, addresses: int, begin: str) -> None:
    (tmp_path / "g.yaml").write_text(CONFIG)
    with serve(tmp_path, *ARGUMENTS, descriptors=DESCRIPTORS) as server:
        url, token = server.ready().url, token_of(tmp_path)
        with connect(f"{url.replace('http', 'ws')}/v1/chat/ws", open_timeout=PATIENCE) as person:
            person.send(json.dumps({"type": "hello", "token": token, "peer": {"id": "bo"}}))
            with crowd(url, addresses, BEGINNINGS[begin]):
                assert ask(f"{url}/v1/health/live") == (200, {"status": "live"})
                assert ask(f"{url}/v1/health/ready")[0] == 200
                status, answer = say(url, token, "hello", "1")
                assert (status, answer["complete"]) == (200, True)
                # A webhook of a platform gets to the gateway, which has no such account.
                assert ask(f"{url}/v1/platforms/telegram/default", body={})[0] == 404
                # Who is in use is not closed.
                person.send(json.dumps({"type": "say", "id": "1", "text": "still there"}))
                wait_for(lambda: json.loads(person.recv(PATIENCE)).get("text") == "still there", lambda: server.log)
            assert "out of file descriptors" not in server.log
            assert len(server.log.splitlines()) < 2 * MANY, "a line of each request at most"
    assert "Traceback" not in server.log


def test_a_process_that_stood_still_accepts_a_crowd_in_small_steps(tmp_path: Path) -> None:
    (tmp_path / "g.yaml").write_text(CONFIG)
    with serve(tmp_path, *ARGUMENTS, descriptors=DESCRIPTORS) as server:
        url = server.ready().url
        server.signal(signal.SIGSTOP)
        try:
            stack = contextlib.ExitStack()
            stack.enter_context(crowd(url, 50, BEGINNINGS["half a body"]))
        finally:
            server.signal(signal.SIGCONT)
        with stack:
            assert ask(f"{url}/v1/health/live") == (200, {"status": "live"})
        assert "out of file descriptors" not in server.log


def test_connections_in_use_leave_a_reserve_for_health_and_platforms(tmp_path: Path) -> None:
    (tmp_path / "g.yaml").write_text(f"{CONFIG}http: {{max_connections: 20, max_connections_per_address: 20}}\n")
    with serve(tmp_path, *ARGUMENTS) as server:
        url, token = server.ready().url, token_of(tmp_path)
        head = f"GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
        port = urlsplit(url).port
        assert port is not None
        with contextlib.ExitStack() as stack:
            for _ in range(20):
                stream = stack.enter_context(socket.create_connection(("127.0.0.1", port), PATIENCE))
                stream.sendall(head)
                assert stream.recv(100).startswith(b"HTTP/1.1 200")
            assert ask(f"{url}/v1/queue", token)[0] == 503
            assert ask(f"{url}/v1/health/live")[0] == 200
            assert ask(f"{url}/v1/health/ready")[0] == 200
            assert ask(f"{url}/v1/platforms/telegram/default", body={})[0] == 404
        wait_for(lambda: ask(f"{url}/v1/queue", token)[0] == 200, lambda: server.log)


def test_a_process_that_runs_out_of_descriptors_says_so_and_goes_on(tmp_path: Path) -> None:
    (tmp_path / "g.yaml").write_text(CONFIG)
    with serve(tmp_path, *ARGUMENTS) as server:
        url, token = server.ready().url, token_of(tmp_path)
        hard = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)[1]
        # What the gateway has not foreseen: fewer than it has counted on at its start.
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (40, hard))
        with crowd(url, 1, b""):
            server.logged("out of file descriptors")
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (hard, hard))
        wait_for(lambda: say(url, token, "hello", "1")[0] == 200, lambda: server.log)
        lines = server.log.splitlines()
        assert sum("asyncio" in line or "file descriptors" in line for line in lines) < 20
        assert f"[Errno {errno.EMFILE}]" not in server.log


def test_the_limit_of_open_files_is_raised_and_what_it_allows_is_said(tmp_path: Path) -> None:
    with serve(tmp_path, "--port", "0", "--state", "state", descriptors=DESCRIPTORS) as server:
        server.logged("at most 768 connections, with 1024 open files")
    (tmp_path / "g.yaml").write_text("http: {max_connections: 2000}\n")
    with serve(tmp_path, *ARGUMENTS, descriptors=DESCRIPTORS) as server:
        server.logged("http.max_connections is 2000, but with 1024 open files only 768 connections are possible")
    with serve(tmp_path, *ARGUMENTS, descriptors=(256, 4096)) as server:
        server.ready()
        assert resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE) == (4096, 4096)
        assert "open files" not in server.log
