"""Clients that wait while ``trunkline serve`` ends, or while its store refuses every write."""

import contextlib
import json
import resource
import signal
import sqlite3
import sys
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.support.serve.processes import PATIENCE, ServeProcess, ask, say, serve, token_of, wait_for

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of another process are set as on Linux")

MANY = 100
CONFIG = "gateway: {delivery: {lease: 3s, request_timeout: 1s}}\nfinish_within: 2s\n"
ARGUMENTS = ("--config", "g.yaml", "--port", "0", "--state", "state")
AGAIN = "with the same message id"


def held_store(folder: Path) -> sqlite3.Connection:
    """A connection that holds the store's only write lock, so that every write of the gateway waits."""
    store = sqlite3.connect(folder / "state" / "gateway.db", timeout=PATIENCE, isolation_level=None)
    store.execute("BEGIN IMMEDIATE")
    return store


def take_over(_: ServeProcess, store: sqlite3.Connection) -> None:
    """Another process takes the store over, as one does whose holder was frozen."""
    store.execute("UPDATE lease SET token = token + 1, owner = 'somebody:1'")
    store.execute("COMMIT")


def terminate(server: ServeProcess, _: sqlite3.Connection) -> None:
    server.signal(signal.SIGTERM)


def posted(pool: ThreadPoolExecutor, url: str, token: str) -> "list[Future[tuple[int, Any]]]":
    """Messages of many people, each with a client that waits for the answer."""

    def post(n: int) -> tuple[int, Any]:
        body = {"channel": "webchat", "peer": {"kind": "direct", "id": f"u{n}"}, "message_id": f"m{n}", "text": "x"}
        return ask(f"{url}/v1/chat/inbound", token, {**body, "wait": n % 2 == 0})

    return [pool.submit(post, n) for n in range(MANY)]


@pytest.mark.parametrize("end", [take_over, terminate])
def test_who_waits_when_the_gateway_ends_is_told_to_repeat(
    tmp_path: Path, end: Callable[[ServeProcess, sqlite3.Connection], None]
) -> None:
    (tmp_path / "g.yaml").write_text(CONFIG)
    with serve(tmp_path, *ARGUMENTS) as server:
        url, token = server.ready().url, token_of(tmp_path)
        with (
            contextlib.closing(held_store(tmp_path)) as store,
            connect(f"{url.replace('http', 'ws')}/v1/chat/ws", open_timeout=PATIENCE) as socket,
            ThreadPoolExecutor(MANY) as pool,
        ):
            socket.send(json.dumps({"type": "hello", "token": token, "peer": {"id": "ana"}}))
            wait_for(lambda: json.loads(socket.recv(PATIENCE))["type"] == "caught_up", lambda: server.log)
            socket.send(json.dumps({"type": "say", "id": "on a socket", "text": "x"}))
            waiting = posted(pool, url, token)
            # All of them have come, and none is answered: the write lock is held.
            time.sleep(2)
            assert not any(answer.done() for answer in waiting)
            end(server, store)
            found = [answer.result(PATIENCE) for answer in waiting]
            frames = list[dict[str, Any]]()
            with contextlib.suppress(ConnectionClosed):
                frames.extend(json.loads(frame) for frame in socket)
        assert "Traceback" not in server.log
        assert {status for status, _ in found} == {503}
        assert all(AGAIN in answer["detail"] for _, answer in found)
        (problem,) = (frame for frame in frames if frame["type"] == "problem")
        assert problem["id"] == "on a socket"
        assert problem["problem"]["status"] == 503
        assert AGAIN in problem["problem"]["detail"]
        server.ended()


def test_a_store_that_refuses_writes_shows_and_is_said_and_recovers(tmp_path: Path) -> None:
    (tmp_path / "g.yaml").write_text(CONFIG)
    with serve(tmp_path, *ARGUMENTS) as server:
        url, token = server.ready().url, token_of(tmp_path)
        assert say(url, token, "before", "0")[0] == 200
        limits = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
        # No file grows, or is written behind its beginning: what a full disk refuses, and a bit more.
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (4096, limits[1]))
        # The first one finds out: it waited in the gateway, and may be stored later.
        status, problem = say(url, token, "during", "1")
        assert (status, problem["type"]) == (503, "urn:trunkline:problem:store-unavailable")
        assert AGAIN in problem["detail"]
        for n in range(3):
            status, problem = say(url, token, "during", f"later-{n}")
            assert (status, problem["type"]) == (503, "urn:trunkline:problem:store-unavailable")
            assert AGAIN in problem["detail"]
        status, problem = ask(f"{url}/v1/health/ready")
        assert (status, problem["type"]) == (503, "urn:trunkline:problem:store-unavailable")
        assert ask(f"{url}/v1/health/live")[0] == 200
        # Who looks what is wrong is answered.
        assert ask(f"{url}/v1/queue", token)[0] == 200
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, limits)
        server.ready()
        status, answer = say(url, token, "during", "1")
        assert (status, answer["duplicate"]) == (200, True)
        assert [payload["text"] for payload in answer["outbound_payloads"]] == ["during"]
        status, answer = say(url, token, "during", "later-0")
        assert (status, answer["duplicate"]) == (200, False)
