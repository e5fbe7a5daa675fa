"""The erasure of a person: afterwards their words are in no byte of the store, and in no recording."""

import json
import signal
import sys
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import anyio
import httpx
import pytest

from tests.support.paths import ROOT
from tests.unit.app.serve.test_server import ready, settings
from trunkline.app.cli.commands import dispatch
from trunkline.app.operators.port import NotPossible
from trunkline.app.operators.store_file import StoreFileOperator
from trunkline.app.serve.server import Serving, serving
from trunkline.core.errors import StoreError, UsageError
from trunkline.core.events.trace import read_trace
from trunkline.core.http.routes.sessions import EraseBody, erase_person, list_erasures
from trunkline.core.store.sqlite.store import SqliteStore
from trunkline.core.values import Address, ChatKind

pytestmark = pytest.mark.anyio

CONFIG = """\
record: recordings
gateway: {session: {dm_scope: SCOPE}}
"""
#: as text, so that nothing but the store can have them
WORDS = Iterable[str]


class Chat:
    """A server, and the people who write to it; each message has a word that nothing else has."""

    def __init__(self, server: Serving, http: httpx.AsyncClient, folder: Path) -> None:
        self.server, self.http, self.folder = server, http, folder
        self.said: dict[str, set[str]] = {}

    async def say(self, who: str, room: str | None = None) -> None:
        word, of = uuid4().hex, who if room is None else f"{who} in {room}"
        self.said.setdefault(of, set()).add(word)
        peer = {"kind": "direct", "id": who} if room is None else {"kind": "group", "id": room}
        body: dict[str, Any] = {
            "channel": "webchat",
            "peer": peer,
            "message_id": word,
            "text": f"I say {word}",
            "wait": 20,
        }
        if room is not None:
            body["sender"] = {"id": who, "name": who.title()}
        answer = await self.http.post("/v1/chat/inbound", json=body)
        assert answer.json()["complete"], answer.text

    async def erase(self, who: str = "ana") -> httpx.Response:
        return await self.http.post("/v1/erasures", json={"person": f"webchat:{who}"})

    def left(self, of: str) -> int:
        """How many words of somebody are in a file of the server."""
        return len(words_in(self.folder, self.said[of]))


def words_in(folder: Path, words: WORDS) -> set[str]:
    """The words that are in the bytes of the store, of its log file or of a recording."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != "gateway.yaml"]
    content = b"\0".join(path.read_bytes() for path in files)
    return {word for word in words if word.encode() in content}


@asynccontextmanager
async def chat(folder: Path, scope: str = "per-account-channel-peer", config: str = CONFIG) -> AsyncGenerator[Chat]:
    async with serving(settings(folder, config.replace("SCOPE", scope))) as server:
        headers = {"Authorization": f"Bearer {server.token}"}
        async with httpx.AsyncClient(base_url=server.url, headers=headers, timeout=60) as http:
            await ready(server, http)
            yield Chat(server, http, folder)


async def recorded(one: Chat) -> None:
    """Wait until the recording has what was said."""
    with anyio.fail_after(20):
        while not any(path.stat().st_size > 5000 for path in (one.folder / "recordings").iterdir()):  # noqa: ASYNC110
            await anyio.sleep(0.05)


async def test_nothing_of_the_person_is_left_and_all_of_the_others(tmp_path: Path) -> None:
    async with chat(tmp_path) as one:
        for n in range(30):
            await one.say("ana")
            await one.say("ben")
            if n % 5 == 0:
                await one.say("ana", "kitchen")
                await one.say("ben", "kitchen")
        await recorded(one)
        assert {of: one.left(of) for of in one.said} == {"ana": 30, "ben": 30, "ana in kitchen": 6, "ben in kitchen": 6}

        done = await one.erase()
        assert done.status_code == 200, done.text
        rows = done.json()["erasure"]["rows"]
        assert {"transcript": 72, "inbox": 36, "intents": 36, "mailbox": 36, "session_map": 1}.items() <= rows.items()
        assert done.json()["recordings"] == 1
        assert {of: one.left(of) for of in one.said} == {"ana": 0, "ben": 30, "ana in kitchen": 0, "ben in kitchen": 6}
        assert not words_in(tmp_path, ("direct:ana", '"id":"ana"', "Ana")), "not even that there was somebody"

        async with one.http.stream("GET", "/v1/events?after=0", timeout=3) as events:
            stream = b""
            try:
                async for part in events.aiter_raw():
                    stream += part
            except httpx.ReadTimeout:
                pass
        assert b"event: gap" in stream
        assert not any(word.encode() in stream for word in one.said["ana"] | one.said["ana in kitchen"])

        # A record stays, of which nobody learns who it was; and ana may begin again.
        (record,) = (await one.http.get("/v1/erasures")).json()["erasures"]
        assert record == done.json()["erasure"]
        assert record["by"] == "owner"
        await one.say("ana")
        assert (await one.erase()).json()["erasure"]["rows"]["transcript"] == 2
        assert one.left("ana") == 0
    for path in (tmp_path / "recordings").iterdir():
        assert read_trace(path, whole=False).events, "what is recorded since can be read"


async def test_of_a_session_that_people_share_only_their_own_lines_go(tmp_path: Path) -> None:
    async with chat(tmp_path, scope="main") as one:
        await one.say("ana")
        await one.say("ben")
        await one.erase()
        assert (one.left("ana"), one.left("ben")) == (0, 1)
        found = (await one.http.get("/v1/sessions/main:main/transcript")).json()
        assert [line["role"] for line in found["lines"]] == ["user", "assistant"], "those of ben"
        async with one.http.stream("GET", "/v1/events?snapshot=true") as events:
            async for line in events.aiter_lines():
                if "shown" in line:
                    break
    async with chat(tmp_path, scope="main") as again:
        # A later process goes on with what is left of the session.
        await again.say("ben")
        await again.say("ana")
        found = (await again.http.get("/v1/sessions/main:main/transcript")).json()
        assert len(found["lines"]) == 6


async def test_what_an_interrupted_erasure_has_left_goes_when_it_is_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with chat(tmp_path) as one:
        for _ in range(20):
            await one.say("ana")

        async def dies(_: SqliteStore) -> None:
            raise StoreError("killed")

        with monkeypatch.context() as patched:
            patched.setattr(SqliteStore, "scrub", dies)
            assert (await one.erase()).status_code == 503
        assert one.left("ana"), "the rows are gone, and their bytes are not"
        again = await one.erase()
        assert (again.status_code, again.json()["erasure"]["rows"]) == (200, {})
        assert one.left("ana") == 0


async def test_a_session_is_made_again_for_a_send_after_the_erasure(tmp_path: Path) -> None:
    async with chat(tmp_path) as one:
        place = Address(channel="webchat", account="default", kind=ChatKind.DIRECT, conversation="ana")
        to = {"channel": "webchat", "account": "default", "kind": "direct", "conversation": place.conversation}
        for n in range(2):
            sent = await one.http.post("/v1/messages", json={"key": f"k{n}", "to": to, "text": "an invoice"})
            assert sent.status_code == 200, sent.text
            found = await one.http.get("/v1/sessions/main:webchat:default:direct:ana/transcript")
            assert [line["text"] for line in found.json()["lines"]] == ["an invoice"]
            await one.erase()
            assert (await one.http.get("/v1/sessions/main:webchat:default:direct:ana")).status_code == 404


# ---------------------------------------------------------------- a store file


async def test_the_same_on_a_store_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = tmp_path / "state" / "gateway.db"
    async with chat(tmp_path) as one:
        for _ in range(5):
            await one.say("ana")
            await one.say("ben")
        await recorded(one)
        with pytest.raises(NotPossible, match="ask it, with `--url`"):
            StoreFileOperator(store).ask(erase_person, EraseBody(person="webchat:ana"))
    given = ["transcript", "erase", "--person", "webchat:ana", "--store", str(store)]
    assert dispatch([*given, "--record", str(tmp_path / "recordings"), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["erasure"]["rows"]["transcript"] == 10
    assert (printed["erasure"]["by"], printed["recordings"]) == ("operator", 1)
    # The recording was of ben as well.
    assert (one.left("ana"), one.left("ben")) == (0, 5)
    assert dispatch(["transcript", "erasures", "--store", str(store)]) == 0
    assert "by operator: 27 rows removed (transcript 10" in capsys.readouterr().out
    assert len(StoreFileOperator(store).ask(list_erasures).erasures) == 1


_KILLED = """
import os, signal, sys
from pathlib import Path
from trunkline.app.operators import store_file
from trunkline.core.http.routes.sessions import EraseBody, erase_person
from trunkline.core.store.sqlite.sql.operators import erasure

def die(connection):
    for sql in sys.argv[2:]:
        connection.execute(sql)
    os.kill(os.getpid(), signal.SIGKILL)

erasure.scrub = die
store_file.StoreFileOperator(Path(sys.argv[1])).ask(erase_person, EraseBody(person="webchat:ana"))
"""


@pytest.mark.parametrize(
    "done",
    [(), ("VACUUM",), ("BEGIN IMMEDIATE", "DELETE FROM transcript")],
    ids=["committed", "vacuum", "half a write"],
)
async def test_an_erasure_that_was_killed_is_repeated(tmp_path: Path, done: tuple[str, ...]) -> None:
    store = tmp_path / "state" / "gateway.db"
    async with chat(tmp_path, config="{}\n") as one:
        for _ in range(10):
            await one.say("ana")
            await one.say("ben")
    killed = await anyio.run_process([sys.executable, "-c", _KILLED, str(store), *done], check=False, cwd=ROOT)
    assert killed.returncode == -signal.SIGKILL
    again = StoreFileOperator(store).ask(erase_person, EraseBody(person="webchat:ana"))
    assert again.erasure.rows == {}
    assert (one.left("ana"), one.left("ben")) == (0, 10)
    assert len(StoreFileOperator(store).ask(list_erasures).erasures) == 2


@pytest.mark.parametrize("person", ["ana", "webchat:", ":ana", ""])
def test_a_person_has_a_channel_and_an_id(tmp_path: Path, person: str) -> None:
    with pytest.raises(UsageError, match="expected CHANNEL:ID"):
        dispatch(["transcript", "erase", "--person", person, "--store", str(tmp_path / "a.db")])


def test_a_folder_of_recordings_goes_with_a_store_file(tmp_path: Path) -> None:
    for given in (["--url", "http://127.0.0.1:1", "--record", str(tmp_path)], ["--store", "a", "--record", "nowhere"]):
        with pytest.raises(UsageError, match="--record"):
            dispatch(["transcript", "erase", "--person", "webchat:ana", *given])
