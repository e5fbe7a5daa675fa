"""A server inside of the test's process: its parts, its reload, and its stop."""

import time
from pathlib import Path

import anyio
import httpx
import pytest

from trunkline.app.serve.server import InProgress, Serving, listen, serving
from trunkline.app.serve.settings import Overrides, Settings, load_settings
from trunkline.core.errors import ConfigError, StoreError, UsageError
from trunkline.core.events import EventLog
from trunkline.core.events.delivery import AttemptEnded, AttemptStarted
from trunkline.core.events.gateway import TurnEnded, TurnStarted
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, ChatKind, Envelope, Peer, WorkKind

pytestmark = pytest.mark.anyio

ANA = Address(channel="webchat", account="default", kind=ChatKind.DIRECT, conversation="ana")


def settings(folder: Path, text: str | None = None, *, port: int = 0) -> Settings:
    path = None
    if text is not None:
        path = folder / "gateway.yaml"
        path.write_text(text)
    return load_settings(path, state=folder / "state", overrides=Overrides(port=port))


def envelope(text: str, message_id: str) -> Envelope:
    return Envelope(address=ANA, peer=Peer(id="ana", name="Ana"), message_id=message_id, text=text, sent_at=time.time())


async def ready(server: Serving, http: httpx.AsyncClient) -> None:
    with anyio.fail_after(20):
        while (await http.get(f"{server.url}/v1/health/ready")).status_code != 200:  # noqa: ASYNC110
            await anyio.sleep(0.02)


async def test_it_serves_while_the_block_runs(tmp_path: Path) -> None:
    async with httpx.AsyncClient() as http:
        async with serving(settings(tmp_path)) as server:
            await ready(server, http)
            url = server.url
            assert (await server.gateway.receive(envelope("hello", "1"))).agent == "main"
            headers = {"Authorization": f"Bearer {server.token}"}
            assert (await http.get(f"{url}/metrics", headers=headers)).status_code == 200
            assert (await http.get(f"{url}/metrics")).status_code == 401
            assert server.token not in repr(server)
        with pytest.raises(httpx.ConnectError):
            await http.get(f"{url}/v1/health/live")


async def test_tokens_have_the_scopes_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "ci").write_text("token-of-the-monitoring\n")
    text = "http: {tokens: [{name: ci, scopes: [read], token: {file: ci}}]}\n"
    async with serving(settings(tmp_path, text)) as server, httpx.AsyncClient() as http:
        await ready(server, http)
        assert server.token == ""
        headers = {"Authorization": "Bearer token-of-the-monitoring"}
        assert (await http.get(f"{server.url}/metrics", headers=headers)).status_code == 200
        assert (await http.post(f"{server.url}/v1/admin/reload", headers=headers)).status_code == 403
    assert not (tmp_path / "state" / "token").exists()


async def test_a_channel_that_nobody_knows_is_warned_about_with_the_word_that_was_meant(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    text = """accounts: [{channel: webchat}, {channel: bridge}]
agents: {main: {echo: {}}, helper: {echo: {}}}
gateway:
  bindings:
    - {match: {channel: discrod}, agent: helper}
    - {match: {channel: bridge}, agent: helper}
  channels: {telgram: {text_limit: 100}, slack: {text_limit: 100}, defaults: {}}
"""
    expected = [
        "gateway.bindings[0].match.channel: no account is on the channel 'discrod': did you mean 'discord'?",
        "gateway.channels.telgram: no account is on the channel 'telgram': did you mean 'telegram'?",
    ]
    async with serving(settings(tmp_path, text)) as server:
        warned = [record.message for record in caplog.records if "is on the channel" in record.message]
        assert warned == expected
        (tmp_path / "gateway.yaml").write_text(text.replace("discrod", "discord"))
        caplog.clear()
        server.reloader.reload()
        warned = [record.message for record in caplog.records if "is on the channel" in record.message]
        assert warned == expected[1:]


async def test_a_reload_applies_all_of_a_file_or_nothing(tmp_path: Path) -> None:
    agents = "agents: {main: {echo: {}}, b: {echo: {}}}\n"
    async with serving(settings(tmp_path, agents)) as server, httpx.AsyncClient() as http:
        await ready(server, http)
        path = tmp_path / "gateway.yaml"

        # The route would hold, but a secret is missing.
        rules = "gateway: {bindings: [{match: {channel: webchat}, agent: b}]}\n"
        path.write_text(f"{agents}{rules}http: {{tokens: [{{name: x, scopes: [read], token: {{file: none}}}}]}}\n")
        with pytest.raises(ConfigError, match=r"http\.tokens\[0\]\.token: the file .*none has no secret"):
            server.reloader.reload()
        assert (await server.gateway.receive(envelope("hello", "1"))).agent == "main"

        path.write_text(f"{agents}{rules}finish_within: 3s\naccounts: []\n")
        found = server.reloader.reload()
        assert found.changed == ("gateway.bindings", "finish_within")
        assert found.needs_restart == ("accounts",)
        assert server.settings.config.finish_within == 3
        assert (await server.gateway.receive(envelope("hello", "2"))).agent == "b"

        # What waits for a restart is said until it is taken back.
        assert server.reloader.reload().needs_restart == ("accounts",)
        path.write_text(f"{agents}{rules}finish_within: 3s\n")
        assert server.reloader.reload().needs_restart == ()


async def test_a_store_that_cannot_be_used_ends_it(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("this is not a database" * 100)
    with pytest.raises(ExceptionGroup) as caught:
        async with serving(settings(tmp_path, "store: text.db\n")):
            pytest.fail("it serves")
    assert caught.group_contains(StoreError)
    assert (tmp_path / "text.db").read_text().startswith("this is not")


async def test_a_taken_port_leaves_nothing_behind(tmp_path: Path) -> None:
    with listen("127.0.0.1", 0) as taken, pytest.raises(UsageError, match="is taken"):
        async with serving(settings(tmp_path, port=taken.getsockname()[1])):
            pytest.fail("it serves")
    assert not (tmp_path / "state" / "gateway.db").exists()


async def test_an_agent_whose_secret_is_missing_is_refused(tmp_path: Path) -> None:
    text = "agents: {main: {openai: {model: m, base_url: 'http://127.0.0.1:1', api_key: {env: NO_SUCH_VARIABLE}}}}\n"
    with pytest.raises(ConfigError, match=r"agents\.main\.openai.*NO_SUCH_VARIABLE is empty or not set"):
        async with serving(settings(tmp_path, text)):
            pytest.fail("it serves")


async def test_what_is_in_progress() -> None:
    log = EventLog(lambda: 1.0, keep=False)
    progress, gateway = InProgress(log), log.recorder("gateway")
    started = TurnStarted(agent="main", session_id="s", session_key="k", work=WorkKind.MESSAGE, origin=ANA)
    with anyio.fail_after(5):
        await progress.rest()
    gateway.record(started, turn="t-1")
    gateway.record(AttemptStarted(chunk=0, attempt=1, address=ANA), intent="i-1")
    gateway.record(TurnEnded(outcome="replied"), turn="t-1")
    assert len(progress) == 1
    with anyio.move_on_after(0.3) as limit:
        await progress.rest()
    assert limit.cancelled_caught
    gateway.record(AttemptEnded(chunk=0, attempt=1, reason=Reason.ACCEPTED, decision="settle"), intent="i-1")
    with anyio.fail_after(5):
        await progress.rest()
