"""Operators' commands ask a running gateway as they ask its store file: the same words, the same exit codes."""

import io
import json
import re
import shutil
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from tests.support.chat import add_mailbox
from tests.support.http import ALL, Api, api
from tests.support.small_gateway import BEN, KEY, Echo, TinyPlatform
from tests.support.url_of_gateway import serving_url
from trunkline import Capabilities, Idempotency, Turn
from trunkline.core.env import system_env
from trunkline.core.errors import Ambiguous, Refused
from trunkline.core.events.delivery import IntentSettled
from trunkline.core.events.hands import DelegationAccepted

WORKERS: dict[str, Any] = {
    "hands": {"each": {"courier": {"worker": True}}},
    "delivery": {"ambiguous": "park", "failed_notice": "", "doubt_notice": ""},
}
#: long after everything that is stored, so that what is asked twice is as old both times
LATER = 4_000_000_000.0


async def act(turn: Turn) -> str | None:
    if turn.text.startswith("fetch"):
        await turn.delegate("courier", turn.text)
    return f"you said {turn.text}"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of a gateway that has stopped, with intents of several fates, sessions, and open delegations."""
    path = tmp_path_factory.mktemp("made") / "gateway.db"
    anyio.run(_fill, path)
    return path


async def _fill(path: Path) -> None:
    platform = TinyPlatform()
    # So that a send without an answer stays in doubt.
    platform.capabilities = Capabilities(idempotency=Idempotency.NONE)
    platform.errors = [Refused("no"), Ambiguous("who knows")]
    async with api(path, platform=platform, agent=Echo(act), **WORKERS) as one:
        for n, text in enumerate(("hello", "good day", "fetch one", "fetch two")):
            platform.say(f"m{n}", text=text)
            await one.running.until(IntentSettled, n + 1)
        await one.running.until(DelegationAccepted, 2)
        platform.say("n0", BEN, "hi")
        await one.running.until(IntentSettled, 5)
        await _bind(one)
    platform.close()


async def _bind(one: Api) -> None:
    """Two bindings, of which the first has ended."""
    add_mailbox(one)
    for person in ("ana", "ben"):
        place = {"channel": "webchat", "account_id": "default", "conversation_id": f"user:{person}"}
        body = {"target_session_key": KEY, "conversation": place, "label": f"for {person}", "metadata": {"by": "hand"}}
        made = await one.http.post("/v1/bindings", json=body)
        assert made.status_code == 200, made.text
        if person == "ana":
            await one.http.delete(f"/v1/bindings/{made.json()['binding_id']}")


@dataclass(frozen=True)
class Both:
    """Runs a command both ways, or on the store file only and answers what it printed."""

    run: Callable[..., tuple[tuple[int, str, str], tuple[int, str, str]]]
    first: Callable[..., str]

    def __call__(self, *arguments: str) -> tuple[tuple[int, str, str], tuple[int, str, str]]:
        return self.run(*arguments)


@pytest.fixture
def both(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trunkline: Callable[..., tuple[int, str, str]]
) -> Generator[Both]:
    """Runs a command on a store file beside its gateway, and on another gateway of the same state over HTTP."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    stores = [Path(shutil.copy(made, tmp_path / name / "gateway.db")) for name in ("a", "b")]
    token = tmp_path / "token"
    token.write_text(ALL)
    monkeypatch.setattr("trunkline.app.operators.store_file.time", SimpleNamespace(time=lambda: LATER))
    env = system_env()
    env.now = lambda: LATER
    # The routes alone live later; the gateway itself goes on by the clock.
    with serving_url(stores[1], env=env, agent=Echo(act), **WORKERS) as served:

        def run(*arguments: str) -> tuple[tuple[int, str, str], tuple[int, str, str]]:
            options = [["--store", str(stores[0])], ["--url", served.url, "--token-file", str(token)]]
            found = [trunkline(*arguments, *one) for one in options]
            for n, one in enumerate(options):
                code, out, err = found[n]
                named = " ".join(map(str, one))
                found[n] = code, _alike(out.replace(named, "OPTION")), err.replace(named, "OPTION")
            return found[0], found[1]

        def first(*arguments: str) -> str:
            return trunkline(*arguments, "--store", str(stores[0]))[1]

        yield Both(run, first)


def _alike(text: str) -> str:
    """Without what says which gateway acts, and when."""
    text = re.sub(r'"holder": .*', '"holder": …', text)
    return re.sub(r"^.*holds? this store.*$", "HOLDER", text, flags=re.M)


READING = [
    ("queue", "list"),
    ("queue", "list", "--json"),
    ("queue", "list", "--all", "--limit", "2"),
    ("queue", "list", "--all", "--json"),
    ("queue", "list", "--state", "dead", "--channel", "slack"),
    ("queue", "show", "nobody"),
    ("bindings", "list"),
    ("bindings", "list", "--json"),
    ("bindings", "list", "--ended"),
    ("bindings", "list", "--ended", "--json"),
    ("transcript",),
    ("transcript", KEY),
    ("transcript", "agent:main:discord:default:direct:100"),
    ("transcript", "main:discord:default:direct:10"),
    ("transcript", "nobody at all"),
    ("hands", "list"),
    ("hands", "list", "--json"),
    ("hands", "list", "--state", "accepted", "--limit", "1"),
    ("hands", "list", "--before", "gone"),
    ("hands", "show", "nobody"),
]


def test_what_is_asked_is_answered_alike(both: Both) -> None:
    for arguments in READING:
        file, url = both(*arguments)
        assert file == url, arguments


def test_one_intent_and_one_delegation_are_shown_alike_and_the_hints_name_the_option(both: Both) -> None:
    for kind, rows in (("queue", "intents"), ("hands", "delegations")):
        extra = ("--all",) if kind == "queue" else ()
        for row in json.loads(both.first(kind, "list", "--json", *extra))[rows]:
            for json_too in ((), ("--json",)):
                file, url = both(kind, "show", row["id"], *json_too)
                assert file == url
                assert file[0] == 0
                if row["state"] in ("failed", "unknown", "accepted"):
                    assert "OPTION" in file[1]


CHANGING = [
    ("queue", "retry", "nobody"),
    ("queue", "retry", "--state", "delivered"),
    ("queue", "retry", "--state", "failed"),
    ("queue", "resolve", "nobody", "--sent"),
    ("queue", "purge", "--state", "prepared", "--yes"),
    ("queue", "purge", "--state", "delivered", "--yes"),
    ("queue", "purge", "--older-than", "100000d", "--yes", "--json"),
    ("hands", "take", "nobody"),
    ("hands", "cancel", "nobody"),
    ("bindings", "unbind", "nobody"),
]


@pytest.mark.parametrize("arguments", CHANGING, ids=" ".join)
def test_what_is_changed_is_answered_alike(both: Both, arguments: tuple[str, ...]) -> None:
    file, url = both(*arguments)
    assert (file[0], file[1]) == (url[0], url[1])
    if arguments[:2] != ("hands", "take"):
        # A running gateway knows which hands are workers, and a file does not.
        assert file[2] == url[2]


def test_a_chunk_in_doubt_is_resolved_alike(both: Both) -> None:
    [row] = json.loads(both.first("queue", "list", "--state", "unknown", "--json"))["intents"]
    for arguments in (("--sent", "--message-id", "7"), ("--unsent",)):
        file, url = both("queue", "resolve", row["id"], *arguments)
        assert file == url
    assert file[0] == 1, "it is resolved already"


def test_a_task_is_cancelled_alike_and_a_second_time_it_is_not_possible(both: Both) -> None:
    row, *_ = json.loads(both.first("hands", "list", "--state", "accepted", "--json"))["delegations"]
    file, url = both("hands", "cancel", row["id"])
    assert (file[0], url[0]) == (0, 0)
    assert "left for the gateway" in file[1]
    assert "is done" in url[1], "the gateway has done it itself"
    assert both("hands", "cancel", row["id"])[1][0] == 1


def test_a_binding_is_ended_alike_and_a_second_time_it_is_not_possible(both: Both) -> None:
    [row] = json.loads(both.first("bindings", "list", "--json"))["bindings"]
    file, url = both("bindings", "unbind", row["id"], "--reason", "enough")
    assert (file[0], url[0]) == (0, 0)
    assert file == url
    file, url = both("bindings", "unbind", row["id"])
    assert file[0] == 1
    assert file == url
    for found in both("bindings", "list", "--ended"):
        assert "ended (unbound: enough)" in found[1]


def test_a_worker_takes_and_answers_over_http(made: Path, tmp_path: Path, trunkline: Any, monkeypatch: Any) -> None:
    store = shutil.copy(made, tmp_path / "gateway.db")
    monkeypatch.setenv("TRUNKLINE_TOKEN", ALL)
    with serving_url(Path(store), agent=Echo(act), **WORKERS) as served:
        code, out, _ = trunkline("hands", "take", "courier", "--as", "ben", "--json", "--url", served.url)
        task = json.loads(out)["task"]
        assert (code, task["task"]) == (0, "fetch one")
        one = task["delegation"]
        given = ("--ticket", task["ticket"], "--url", served.url)
        assert trunkline("hands", "progress", one, "half way", *given)[0] == 0
        code, out, err = trunkline("hands", "answer", one, "here", "--ticket", "guess", "--url", served.url)
        assert (code, out) == (1, "")
        assert "ticket" in err
        monkeypatch.setattr(sys, "stdin", io.StringIO("here it is"))
        assert trunkline("hands", "answer", one, "-", *given)[0] == 0
        assert "is kept, and not reported" in trunkline("hands", "answer", one, "again", *given)[1]
        assert "half way" in trunkline("hands", "show", one, "--url", served.url)[1]


# ---------------------------------------------------------------- errors


def complaint(trunkline: Any, *arguments: str) -> str:
    code, out, err = trunkline("queue", "list", *arguments)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1, err
    return err


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("http://127.0.0.1:1", "cannot connect to http://127.0.0.1:1"),
        ("127.0.0.1:8420", "write e.g. http://127.0.0.1:8420"),
        ("ftp://x", "write e.g."),
        ("http://", "write e.g."),
        ("http://a:b@127.0.0.1:1", "--token-file"),
        ("http://127.0.0.1:1/?x=1", "leave out"),
        ("http://127.0.0.1:99999", "write e.g."),
    ],
)
def test_an_address_that_leads_nowhere_is_a_line(trunkline: Any, url: str, says: str) -> None:
    assert says in complaint(trunkline, "--url", url)


def test_exactly_one_gateway_is_named(trunkline: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert "--store FILE, or --url URL" in complaint(trunkline)
    assert "--store FILE, or --url URL" in complaint(trunkline, "--store", "x", "--url", "http://127.0.0.1:1")
    assert "goes with --url" in complaint(trunkline, "--store", "x", "--token-file", "y")
    assert "goes with --url" in complaint(trunkline, "--token-file", "y")
    assert "No such file" in complaint(trunkline, "--url", "http://127.0.0.1:1", "--token-file", str(tmp_path / "no"))


def test_a_wrong_token_and_a_missing_scope_are_named(
    made: Path, tmp_path: Path, trunkline: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with serving_url(Path(shutil.copy(made, tmp_path / "gateway.db")), agent=Echo(act), **WORKERS) as served:
        assert "wants a token" in complaint(trunkline, "--url", served.url)
        monkeypatch.setenv("TRUNKLINE_TOKEN", "token-of-nobody")
        assert "does not accept the token of TRUNKLINE_TOKEN" in complaint(trunkline, "--url", served.url)
        monkeypatch.setenv("TRUNKLINE_TOKEN", "token-send")
        assert "lacks the scope read" in complaint(trunkline, "--url", served.url)
        monkeypatch.delenv("TRUNKLINE_TOKEN")
        own = tmp_path / "state" / "trunkline" / "token"
        own.parent.mkdir(parents=True)
        own.write_text(f"{ALL}\n")
        assert trunkline("queue", "list", "--url", served.url)[0] == 0


@contextmanager
def stranger(status: int, kind: str, body: bytes, length: int | None = None) -> Generator[str, None, None]:
    """A server that is no gateway."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body) if length is None else length))
            self.send_header("Location", "http://elsewhere.invalid/")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None: ...  # noqa: A002 -- the library's name

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    ("status", "kind", "body", "length", "says"),
    [
        (200, "text/html", b"<html>hello</html>", None, "is no Trunkline gateway"),
        (404, "text/html", b"<html>\x1b[2Jgone</html>", None, "is no Trunkline gateway: it answers 404 and text/html"),
        (302, "text/html", b"", None, "points to http://elsewhere.invalid/"),
        (200, "application/json", b'{"counts": {', None, "is no Trunkline gateway"),
        (200, "application/json", b'{"counts": 7}', None, "use the version of the gateway"),
        (200, "application/json", b'{"counts": {}}', 500, "broke off"),
        (200, "application/json", b"\xff\xfe", None, "is no Trunkline gateway"),
        (500, "application/problem+json", b"[]", None, "is no Trunkline gateway"),
    ],
    ids=["html", "not-found", "redirect", "cut", "other-version", "broken-off", "bytes", "no-problem"],
)
def test_what_is_no_gateway_is_a_line(
    trunkline: Any, status: int, kind: str, body: bytes, length: int | None, says: str
) -> None:
    with stranger(status, kind, body, length) as url:
        said = complaint(trunkline, "--url", url)
        assert says in said
        assert "\x1b" not in said


def test_a_server_without_tls_is_named(trunkline: Any) -> None:
    with stranger(200, "text/html", b"") as url:
        assert "http:// instead of https://" in complaint(trunkline, "--url", url.replace("http:", "https:"))
