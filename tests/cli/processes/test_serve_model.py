"""``trunkline serve`` with an agent that asks a model: a real process, a store on disk, and a scripted endpoint."""

import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from anyio.to_thread import run_sync

from tests.support.model_server import Hang, Reply, fails, model_server, says, tool_call, wants
from tests.support.serve.processes import ServeProcess, say, serve

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")]

KEY = "sk-very-secret-0123456789"
FILE = """\
store: gateway.db
http: {{listen: "127.0.0.1:0", token_file: token}}
gateway: {{turns: {{error_notice: "Sorry, that did not work."}}}}
agents: {{main: {{openai: {{model: m, base_url: "{url}", api_key: {{env: MODEL_KEY}}, retries: 0}}}}}}
accounts: [{{channel: webchat}}]
"""
SEND = tool_call("message", {"action": "send", "message": "from the tool"})


@pytest.fixture
def folder(tmp_path: Path, anyio_backend: str) -> Path:
    return tmp_path


def written(folder: Path, url: str) -> tuple[str, str]:
    (folder / "gateway.yaml").write_text(FILE.format(url=url))
    return "--config", "gateway.yaml"


async def said(server: ServeProcess, folder: Path, text: str, message_id: str, wait: float | bool = True) -> Any:
    url = (await run_sync(server.ready)).url
    status, answer = await run_sync(say, url, (folder / "token").read_text().strip(), text, message_id, wait)
    assert status in (200, 202), answer
    return answer


def texts(answer: Any) -> list[str]:
    return [one["text"] for one in answer["outbound_payloads"]]


async def test_a_model_answers_and_sends_in_the_web_chat(folder: Path) -> None:
    script = [says("Hello, Ana."), wants(SEND), says("done"), fails(401, f"Incorrect API key provided: {KEY}")]
    async with model_server(script, key=KEY) as model:
        with serve(folder, *written(folder, model.url), environ={"MODEL_KEY": KEY}) as server:
            assert texts(await said(server, folder, "hi", "1")) == ["Hello, Ana."]
            assert texts(await said(server, folder, "send", "2")) == ["from the tool", "done"]
            failed = await said(server, folder, "again", "3")
            assert texts(failed) == ["Sorry, that did not work."]
            server.signal(signal.SIGTERM)
            assert await run_sync(server.ended) == 0
            assert "agent-unreachable" in server.log
            assert KEY not in server.log + server.output
    assert [one["content"] for one in model.asked[1].messages] == ["hi", "Hello, Ana.", "send"]


async def test_a_gateway_that_is_killed_in_the_middle_of_a_turn_sends_nothing_twice(folder: Path) -> None:
    """The model has sent a message and thinks on; after the restart it first does something else."""
    script = [*(wants(SEND), Reply(steps=(Hang(),))), *(wants(tool_call("agent_list")), wants(SEND), says("done"))]
    async with model_server(script, key=KEY) as model:
        arguments = written(folder, model.url)
        with serve(folder, *arguments, environ={"MODEL_KEY": KEY}) as server:
            await said(server, folder, "send", "1", wait=0)
            await model.until(2)
            await run_sync(server.kill)
        with serve(folder, *arguments, environ={"MODEL_KEY": KEY}) as server:
            answer = await said(server, folder, "send", "1")
            assert answer["duplicate"] is True
            assert sorted(texts(answer)) == ["done", "from the tool"]
    assert "runs again" in model.asked[2].messages[-1]["content"]


#: stands before the client library in the path, and lets it be loaded once somebody has said so
GATE = """\
import importlib, pathlib, sys, time

here = pathlib.Path(__file__).parent.parent
until = time.monotonic() + 30
while not (here / "open").exists() and time.monotonic() < until:
    time.sleep(0.01)
if (here / "broken").exists():
    raise ImportError("a part of it is missing")
sys.path.remove(str(here))
del sys.modules["openai"]
importlib.import_module("openai")
"""


def gated(folder: Path) -> dict[str, str]:
    """The environment of a process whose client library is not loaded before a file `open` exists."""
    (folder / "path" / "openai").mkdir(parents=True)
    (folder / "path" / "openai" / "__init__.py").write_text(GATE)
    return {"MODEL_KEY": KEY, "PYTHONPATH": str(folder / "path")}


async def test_the_server_answers_while_the_client_library_is_loaded(folder: Path) -> None:
    """Its first turn waits for it."""
    async with model_server([says("Hello, Ana.")], key=KEY) as model:
        with serve(folder, *written(folder, model.url), environ=gated(folder)) as server:
            answer = await said(server, folder, "hi", "1", wait=0)
            assert (answer["complete"], texts(answer), model.asked) == (False, [], [])
            (folder / "path" / "open").touch()
            assert texts(await said(server, folder, "hi", "1")) == ["Hello, Ana."]


async def test_a_server_can_be_stopped_while_the_client_library_is_loaded(folder: Path) -> None:
    with serve(folder, *written(folder, "http://127.0.0.1:9/v1"), environ=gated(folder)) as server:
        await run_sync(server.ready)
        server.signal(signal.SIGTERM)
        await run_sync(server.logged, "SIGTERM: stopping")
        (folder / "path" / "open").touch()
        assert await run_sync(server.ended) == 0


async def test_a_client_library_that_is_broken_is_one_line(folder: Path) -> None:
    environ = gated(folder)
    (folder / "path" / "broken").touch()
    (folder / "path" / "open").touch()
    with serve(folder, *written(folder, "http://127.0.0.1:9/v1"), environ=environ) as server:
        assert await run_sync(server.ended) == 2
        assert "the client library of OpenAI cannot be loaded: ImportError: a part of it is missing" in server.log
        assert "Traceback" not in server.log


async def test_a_key_that_is_missing_is_one_line(folder: Path) -> None:
    with serve(folder, *written(folder, "http://127.0.0.1:9/v1"), environ={"MODEL_KEY": ""}) as server:
        assert await run_sync(server.ended) == 2
        assert "MODEL_KEY is empty or not set" in server.log
        assert "Traceback" not in server.log
