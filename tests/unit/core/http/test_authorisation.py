"""Every endpoint with every kind of token, against a table that is written by hand."""

import hmac
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
import websockets

from tests.support.chat import web_chat
from tests.support.http import ALL, SETTINGS, Api, api, authorised, over_socket
from trunkline.app.serve.server import streams
from trunkline.core.http.app import build_app
from trunkline.core.http.auth import Tokens
from trunkline.core.http.clients import Caller, Reach, Scope
from trunkline.core.http.endpoint import Endpoint
from trunkline.core.http.settings import Token

pytestmark = pytest.mark.anyio

READ, SEND, OPERATE = Scope.READ, Scope.SEND, Scope.OPERATE
WHOLE, PLACE = Reach.GATEWAY, Reach.PLACE

#: the scope that each endpoint needs, and what a bound token gets there; none: open to everybody
EXPECTED: dict[tuple[str, str], tuple[Scope, Reach] | None] = {
    ("GET", "/openapi.json"): None,
    ("GET", "/v1/health/live"): None,
    ("GET", "/v1/health/ready"): None,
    ("GET", "/v1/accounts"): (READ, WHOLE),
    ("GET", "/v1/platforms/{channel}/{account}"): None,
    ("POST", "/v1/platforms/{channel}/{account}"): None,
    ("GET", "/v1/platforms/{channel}/{account}/{tail}"): None,
    ("POST", "/v1/platforms/{channel}/{account}/{tail}"): None,
    ("POST", "/v1/messages"): (SEND, WHOLE),
    ("POST", "/v1/messages/broadcast"): (SEND, WHOLE),
    ("GET", "/v1/sessions"): (READ, WHOLE),
    ("GET", "/v1/sessions/{session}"): (READ, WHOLE),
    ("GET", "/v1/sessions/{session}/transcript"): (READ, WHOLE),
    ("POST", "/v1/sessions/{session}/reset"): (OPERATE, WHOLE),
    ("POST", "/v1/erasures"): (OPERATE, WHOLE),
    ("GET", "/v1/erasures"): (READ, WHOLE),
    ("GET", "/v1/bindings"): (READ, WHOLE),
    ("POST", "/v1/bindings"): (OPERATE, WHOLE),
    ("DELETE", "/v1/bindings/{binding}"): (OPERATE, WHOLE),
    ("GET", "/v1/queue"): (READ, WHOLE),
    ("GET", "/v1/queue/{intent}"): (READ, WHOLE),
    ("POST", "/v1/queue/retry"): (OPERATE, WHOLE),
    ("POST", "/v1/queue/purge"): (OPERATE, WHOLE),
    ("POST", "/v1/queue/{intent}/resolve"): (OPERATE, WHOLE),
    ("GET", "/v1/hands"): (READ, WHOLE),
    ("GET", "/v1/hands/{delegation}"): (READ, WHOLE),
    ("POST", "/v1/hands"): (OPERATE, WHOLE),
    ("POST", "/v1/hands/take"): (OPERATE, WHOLE),
    ("POST", "/v1/hands/{delegation}/answer"): (OPERATE, WHOLE),
    ("POST", "/v1/hands/{delegation}/progress"): (OPERATE, WHOLE),
    ("POST", "/v1/hands/{delegation}/cancel"): (OPERATE, WHOLE),
    ("POST", "/v1/hands/{delegation}/retry-callback"): (OPERATE, WHOLE),
    ("POST", "/v1/hands/{delegation}/discard"): (OPERATE, WHOLE),
    ("POST", "/v1/agents/{agent}/wake"): (OPERATE, WHOLE),
    ("POST", "/v1/agents/{agent}/heartbeat"): (OPERATE, WHOLE),
    ("POST", "/v1/explain/route"): (READ, WHOLE),
    ("POST", "/v1/explain/send"): (READ, WHOLE),
    ("POST", "/v1/explain/policy"): (READ, WHOLE),
    ("GET", "/metrics"): (READ, WHOLE),
    ("POST", "/v1/admin/reload"): (OPERATE, WHOLE),
    ("POST", "/v1/chat/inbound"): (SEND, PLACE),
    ("GET", "/v1/chat/inbound/{inbound}"): (SEND, PLACE),
    ("GET", "/v1/chat/outbox"): (READ, PLACE),
}

#: the same of what is no endpoint: streams, pages and WebSockets
STREAMS: dict[str, Scope | None] = {"/v1/events": READ, "/v1/chat/ws": SEND, "/": None, "/chat": None}


def endpoints_of(one: Api) -> tuple[Endpoint, ...]:
    return one.app.state.endpoints


async def ask(one: Api, endpoint: Endpoint, secret: str | None) -> tuple[int, str]:
    """The status, and the type of the problem, of a request whose path names nothing and whose body is empty."""
    path = re.sub(r"\{\w+\}", "nothing", endpoint.path)
    headers = {} if secret is None else authorised(secret)
    answer = await one.http.request(endpoint.method, path, headers={"Authorization": "", **headers})
    problem = answer.headers["content-type"] == "application/problem+json"
    return answer.status_code, answer.json()["type"].rpartition(":")[2] if problem else ""


async def test_the_table_has_every_endpoint_and_no_other(tmp_path: Path) -> None:
    async with api(tmp_path / "gateway.db") as one:
        found = {
            (endpoint.method, endpoint.path): None if endpoint.scope is None else (endpoint.scope, endpoint.reach)
            for endpoint in endpoints_of(one)
        }
        assert found == EXPECTED


async def test_each_endpoint_asks_for_its_scope_and_no_other(tmp_path: Path) -> None:
    async with api(tmp_path / "gateway.db") as one:
        for endpoint in endpoints_of(one):
            rule = EXPECTED[endpoint.method, endpoint.path]
            where = f"{endpoint.method} {endpoint.path}"
            if rule is None:
                for secret in (None, "wrong", *(f"token-{scope}" for scope in Scope)):
                    assert (await ask(one, endpoint, secret))[0] not in (401, 403), where
                continue
            needed, reach = rule
            for secret in (None, "wrong", "token-rea", "token-readx"):
                assert await ask(one, endpoint, secret) == (401, "unauthorized"), where
            for scope in Scope:
                refused = await ask(one, endpoint, f"token-{scope}") == (403, "missing-scope")
                assert refused == (scope is not needed), f"{where} with {scope}"
            assert (await ask(one, endpoint, ALL))[1] not in ("unauthorized", "missing-scope", "bound-token"), where
            # With every scope, and the request is not about its person: an empty one, or one of the whole gateway.
            refused = await ask(one, endpoint, "token-ana")
            assert (refused == (403, "bound-token")) == (reach is WHOLE), f"{where} with a bound token"


async def test_the_table_has_every_other_route(tmp_path: Path) -> None:
    async with web_chat(tmp_path / "gateway.db") as one:
        found = {getattr(route, "path", "") for route in streams(one.served)}
        assert {path for path in found if not path.startswith("/chat/")} == STREAMS.keys(), "files of the page apart"


async def test_each_stream_asks_for_its_scope_and_no_other(tmp_path: Path) -> None:
    async with web_chat(tmp_path / "gateway.db") as one:
        app = build_app(one.served, SETTINGS, more=streams(one.served))
        async with over_socket(replace(one, app=app)) as (client, _):
            for path, needed in STREAMS.items():
                if path == "/v1/chat/ws":
                    continue
                for secret in (None, "wrong", "token-ana", *(f"token-{scope}" for scope in Scope), ALL):
                    given = {"Authorization": ""} if secret is None else authorised(secret)
                    async with client.stream("GET", path, headers=given) as answer:
                        status = answer.status_code
                    if needed is None:
                        assert status < 400, path
                    else:
                        right = secret in (ALL, f"token-{needed}")
                        lacking = secret is not None and secret.startswith("token-")
                        assert status == (200 if right else 403 if lacking else 401), (path, secret)


#: who says hello as whom, and what that answers; none: they are let in
HELLOS = {
    (None, "ana"): "unauthorized",
    ("wrong", "ana"): "unauthorized",
    ("token-read", "ana"): "missing-scope",
    ("token-operate", "ana"): "missing-scope",
    # It may hand in messages of anybody, and not read what anybody is told.
    ("token-send", "ana"): "unbound-token",
    ("token-ana", "ana"): None,
    ("token-ana", "ben"): "bound-token",
    (ALL, "ana"): None,
    (ALL, "ben"): None,
}


@pytest.mark.parametrize(("secret", "person"), HELLOS)
async def test_the_web_socket_asks_for_its_scope_and_its_person(
    tmp_path: Path, secret: str | None, person: str
) -> None:
    refused = HELLOS[secret, person]
    hello = {"type": "hello", "peer": {"id": person}, **({} if secret is None else {"token": secret})}
    async with web_chat(tmp_path / "gateway.db") as one:
        app = build_app(one.served, SETTINGS, more=streams(one.served))
        async with (
            over_socket(replace(one, app=app)) as (_, port),
            websockets.connect(f"ws://127.0.0.1:{port}/v1/chat/ws", proxy=None) as socket,
        ):
            await socket.send(json.dumps(hello))
            first = json.loads(await socket.recv())
            assert first["type"] == ("ready" if refused is None else "problem")
            if refused is not None:
                assert first["problem"]["type"].endswith(f":{refused}")


async def test_a_refusal_names_what_is_missing(tmp_path: Path) -> None:
    async with api(tmp_path / "gateway.db") as one:
        without = await one.http.get("/metrics", headers={"Authorization": ""})
        assert without.headers["www-authenticate"].startswith("Bearer")
        lacking = await one.http.get("/metrics", headers=authorised("token-send"))
        assert (lacking.status_code, lacking.json()["scope"]) == (403, "read")
        assert "token-send" not in lacking.text, "the secret"


@pytest.mark.parametrize(
    "header", ["", "Bearer", "Bearer ", f"Basic {ALL}", ALL, f"Bearer {ALL}x", f"Bearer {ALL[:-1]}", "Bearer \xff\xfe"]
)
async def test_what_is_no_token_is_not_let_in(tmp_path: Path, header: str) -> None:
    async with api(tmp_path / "gateway.db") as one:
        answer = await one.http.get("/metrics", headers={b"Authorization": header.encode("latin-1")})
        assert answer.status_code == 401


async def test_the_scheme_is_read_in_any_case(tmp_path: Path) -> None:
    async with api(tmp_path / "gateway.db") as one:
        assert (await one.http.get("/metrics", headers={"Authorization": f"bEARER {ALL}"})).status_code == 200


def test_every_token_is_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[bytes, bytes]] = []

    def compare(left: bytes, right: bytes) -> bool:
        compared.append((left, right))
        return real(left, right)

    real = hmac.compare_digest
    monkeypatch.setattr(hmac, "compare_digest", compare)
    tokens = Tokens(SETTINGS.tokens)
    secrets = [token.secret.encode() for token in SETTINGS.tokens]
    for given, name in {ALL: "all", "token-read": "read", "token-operate": "operate", "wrong": None}.items():
        compared.clear()
        found = tokens.find(given)
        assert (found and found.name) == name
        assert compared == [(given.encode(), secret) for secret in secrets], "all of them, whichever fits"


def test_an_empty_secret_lets_nobody_in() -> None:
    tokens = Tokens([Token(caller=Caller(name="empty", scopes=frozenset(Scope)), secret="")])
    assert tokens.find("") is None


def test_a_token_is_not_printed() -> None:
    assert ALL not in repr(SETTINGS.tokens)
