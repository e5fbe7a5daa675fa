"""The file with the instructions of a heartbeat: read before each run, whatever it is."""

from pathlib import Path

import anyio
import pytest

from trunkline import system_env
from trunkline.core.config import HeartbeatConfig
from trunkline.core.runtime.heartbeat import facts
from trunkline.core.runtime.heartbeat.facts import MAX_FILE, Instructions, instructions_of

pytestmark = pytest.mark.anyio


async def read(path: Path) -> Instructions:
    return await instructions_of(HeartbeatConfig(file=str(path)), system_env().files)


async def test_the_text_of_the_configuration_needs_no_file() -> None:
    files = system_env().files
    assert await instructions_of(HeartbeatConfig(text="Look."), files) == Instructions(text="Look.")
    assert await instructions_of(HeartbeatConfig(), files) == Instructions()


async def test_a_file_is_read_anew_for_each_run(tmp_path: Path) -> None:
    path = tmp_path / "HEARTBEAT.md"
    assert await read(path) == Instructions()
    path.write_bytes(b"\xef\xbb\xbfLook at \xf0\x9f\xa6\x9e.")
    assert await read(path) == Instructions(text="Look at 🦞.")
    path.write_text("")
    assert await read(path) == Instructions(text="")


async def test_a_file_that_cannot_be_used_says_why_and_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "HEARTBEAT.md"
    path.write_bytes(b"x" * MAX_FILE)
    assert (await read(path)).text == "x" * MAX_FILE
    path.write_bytes(b"x" * (MAX_FILE + 1))
    assert await read(path) == Instructions(problem=f"{path} is larger than 256 KiB; shorten it")
    path.write_bytes(b"\xff\xfe")
    assert await read(path) == Instructions(problem=f"{path} is not UTF-8 text")
    assert await read(tmp_path) == Instructions(problem=f"{tmp_path} cannot be read: Is a directory")


async def test_a_file_that_hangs_holds_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    class Hanging:
        async def read(self, path: str, limit: int) -> bytes | None:
            await anyio.sleep_forever()
            return None

    monkeypatch.setattr(facts, "_TIMEOUT", 0.01)
    found = await instructions_of(HeartbeatConfig(file="HEARTBEAT.md"), Hanging())
    assert found == Instructions(problem="HEARTBEAT.md could not be read within 0.01 s")
