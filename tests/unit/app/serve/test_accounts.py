"""The accounts of a server: mailboxes and real platforms, their secrets, their life and a reload."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar

import anyio
import httpx
import pytest

from tests.support.small_gateway import TinyPlatform
from trunkline.app.serve.redaction import Redaction, secrets_of
from trunkline.app.serve.server import Serving, serving
from trunkline.app.serve.settings import Overrides, Settings, load_file, load_settings
from trunkline.core.adapters import factory
from trunkline.core.adapters.port import AdapterHost, WebhookAnswer, WebhookCall
from trunkline.core.adapters.telegram.config import TelegramConfig
from trunkline.core.config.files import FileError
from trunkline.core.errors import ConfigError
from trunkline.core.events.adapters import AdapterConnected
from trunkline.core.values import Envelope

pytestmark = pytest.mark.anyio

TOKEN = "7000001:AAtoken-of-the-bot"
TWO = """\
accounts:
  - channel: webchat
  - telegram: {token: {file: token}}
  - account: second
    telegram: {token: {env: SECOND}}
"""


class Bot(TinyPlatform):
    """Stands for the adapter of a platform, and notes its life."""

    channel = "telegram"
    made: ClassVar[list["Bot"]] = []

    def __init__(self, config: TelegramConfig, host: AdapterHost) -> None:
        super().__init__()
        self.account = host.account
        self.host = host
        self.token = host.secret(config.token)
        self.life = list[str]()
        self.made.append(self)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        self.life.append("entered")
        async with anyio.create_task_group():
            yield
        self.life.append("left")
        self.close()

    @asynccontextmanager
    async def connect(self) -> AsyncGenerator[AsyncIterator[Envelope], None]:
        self.life.append(f"connected behind {await self.host.cursors.load('updates')}")
        self.host.events.record(AdapterConnected(channel=self.channel, account=self.account, by="polling"))
        async with super().connect() as stream:
            try:
                yield stream
            finally:
                self.life.append("disconnected")

    async def webhook(self, call: WebhookCall) -> WebhookAnswer:
        return WebhookAnswer(body=self.account.encode())


@pytest.fixture
def bots(monkeypatch: pytest.MonkeyPatch) -> list[Bot]:
    monkeypatch.setattr(Bot, "made", [])
    monkeypatch.setitem(factory._ADAPTERS, "telegram", (__name__, "Bot"))
    return Bot.made


def settings(folder: Path, text: str = TWO, **environ: str) -> Settings:
    path = folder / "gateway.yaml"
    path.write_text(text)
    return load_settings(path, state=folder / "state", overrides=Overrides(port=0), environ=environ)


def with_tokens(folder: Path) -> Settings:
    (folder / "token").write_text(f"{TOKEN}\n")
    return settings(folder, SECOND="7000002:BBtoken-of-the-other")


@asynccontextmanager
async def served(made: Settings) -> AsyncGenerator[tuple[Serving, httpx.AsyncClient]]:
    async with serving(made) as server:
        headers = {"Authorization": f"Bearer {server.token}"}
        async with httpx.AsyncClient(base_url=server.url, headers=headers, trust_env=False) as http:
            with anyio.fail_after(20):
                while not server.gateway.serving:  # noqa: ASYNC110
                    await anyio.sleep(0.01)
            yield server, http


async def accounts(http: httpx.AsyncClient) -> list[dict[str, Any]]:
    return (await http.get("/v1/accounts")).json()["accounts"]


async def test_each_account_has_its_adapter_its_token_and_its_cursors(tmp_path: Path, bots: list[Bot]) -> None:
    async with served(with_tokens(tmp_path)) as (_, http):
        with anyio.fail_after(20):
            while not all(one["connected"] for one in await accounts(http)):  # noqa: ASYNC110
                await anyio.sleep(0.01)
        assert [(one["channel"], one["account"], one["mailbox"]) for one in await accounts(http)] == [
            ("telegram", "default", False),
            ("telegram", "second", False),
            ("webchat", "default", True),
        ]
        assert [bot.token for bot in bots] == [TOKEN, "7000002:BBtoken-of-the-other"]
        await bots[0].host.cursors.save("updates", "41")
        assert [await bot.host.cursors.load("updates") for bot in bots] == ["41", None]
        for bot in bots:
            answer = await http.post(f"/v1/platforms/telegram/{bot.account}", headers={"Authorization": ""})
            assert answer.text == bot.account
        assert (await http.post("/v1/platforms/webchat/default")).status_code == 404, "a mailbox has no webhook"
    assert [bot.life for bot in bots] == [["entered", "connected behind None", "disconnected", "left"]] * 2

    async with served(with_tokens(tmp_path)):
        with anyio.fail_after(20):
            while "connected behind 41" not in bots[2].life:  # noqa: ASYNC110
                await anyio.sleep(0.01)


async def test_a_process_that_stands_by_connects_to_nothing(tmp_path: Path, bots: list[Bot]) -> None:
    async with served(with_tokens(tmp_path)), serving(with_tokens(tmp_path)) as second:
        await anyio.sleep(0.2)
        assert [bot.life for bot in bots[2:]] == [["entered"]] * 2
        async with httpx.AsyncClient(base_url=second.url, trust_env=False) as http:
            answer = await http.post("/v1/platforms/telegram/default")
            assert (answer.status_code, answer.json()["type"]) == (503, "urn:trunkline:problem:standby")


async def test_a_new_token_behind_the_same_name_needs_a_restart(tmp_path: Path, bots: list[Bot]) -> None:
    async with served(with_tokens(tmp_path)) as (server, _):
        assert server.reloader.reload().needs_restart == ()
        (tmp_path / "token").write_text("7000001:CCtoken-of-today")
        assert server.reloader.reload().needs_restart == ("accounts[1].telegram.token",)
        (tmp_path / "token").unlink()
        with pytest.raises(ConfigError, match=r"accounts\[1\]\.telegram\.token: the file .*token has no secret"):
            server.reloader.reload()
        (tmp_path / "token").write_text(TOKEN)
        assert server.reloader.reload().needs_restart == ()
        (tmp_path / "gateway.yaml").write_text("accounts: [{channel: webchat}]\n")
        assert server.reloader.reload().needs_restart == ("accounts",)


async def test_a_secret_that_is_not_there_is_named(tmp_path: Path, bots: list[Bot]) -> None:
    (tmp_path / "token").write_text(TOKEN)
    with pytest.raises(ConfigError, match=r"accounts\[2\]\.telegram\.token: the environment variable SECOND is empty"):
        async with serving(settings(tmp_path)):
            pytest.fail("it serves")
    assert bots == [], "nothing was made of the others"


async def test_all_secrets_and_packages_that_are_not_there_are_named_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigError) as caught:
        async with serving(settings(tmp_path)):
            pytest.fail("it serves")
    assert [line.rpartition("accounts[")[2][:1] for line in caught.value.facts.splitlines()] == ["1", "2"]
    monkeypatch.setitem(factory._ADAPTERS, "telegram", ("there_is_no_such_package.adapter", "Bot"))
    with pytest.raises(ConfigError) as caught:
        async with serving(with_tokens(tmp_path)):
            pytest.fail("it serves")
    assert [line.rpartition("accounts[")[2][:1] for line in caught.value.facts.splitlines()] == ["1", "2"]


async def test_two_accounts_of_one_bot_are_refused(tmp_path: Path, bots: list[Bot]) -> None:
    (tmp_path / "token").write_text(TOKEN)
    said = r"accounts\[2\]\.telegram\.token: the same as that of accounts\[1\]\.telegram"
    with pytest.raises(ConfigError, match=said) as caught:
        async with serving(settings(tmp_path, SECOND=TOKEN)):
            pytest.fail("it serves")
    assert TOKEN not in str(caught.value)
    assert bots == [], "nothing was made"
    elsewhere = TWO.replace("{env: SECOND}", "{env: SECOND}, api_root: 'http://127.0.0.1:1'")
    async with serving(settings(tmp_path, elsewhere, SECOND=TOKEN)):
        assert len(bots) == 2, "the same token at another server is another bot"


async def test_a_package_that_is_not_installed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(factory._ADAPTERS, "telegram", ("there_is_no_such_package.adapter", "Bot"))
    with pytest.raises(ConfigError, match=r"accounts\[1\]\.telegram: .*pip install 'trunkline\[telegram\]'"):
        async with serving(with_tokens(tmp_path)):
            pytest.fail("it serves")


def test_secrets_of_accounts_are_left_out_of_the_log(tmp_path: Path) -> None:
    made = with_tokens(tmp_path)
    redaction = Redaction(secrets_of(made))
    written = redaction.of(f"https://api.telegram.org/bot{TOKEN}/getMe https://x/?t={TOKEN.replace(':', '%3A')}")
    assert written == "https://api.telegram.org/bot[secret]/getMe https://x/?t=[secret]"


#: accounts that are wrong, and what is said about them
WRONG: dict[str, tuple[str, str]] = {
    "no platform": (
        "accounts:\n  - account: x\n",
        "2:5: accounts[0]: an account has exactly one of `channel` and `telegram`, `discord`",
    ),
    "two platforms": (
        "accounts:\n  - {channel: telegram, telegram: {token: {env: A}}}\n",
        "it has `channel` and `telegram`",
    ),
    "an unknown platform": (
        "accounts:\n  - {channel: webchat}\n  - {telegrm: {token: {env: A}}}\n",
        "3:6: accounts[1].telegrm: unknown field",
    ),
    "the nearest platform": ("accounts:\n  - {telegrm: {token: {env: A}}}\n", "nearest valid word: 'telegram'"),
    "a token in the file": (
        "accounts:\n  - telegram: {token: '7000001:AAtoken'}\n",
        "2:23: accounts[0].telegram.token: expected the place of a secret, found a text (write {env: NAME} or",
    ),
    "no token": ("accounts:\n  - telegram: {}\n", "accounts[0].telegram.token: the field `token` is missing"),
    "a field of a platform": (
        "accounts:\n  - discord: {token: {env: A}, api_rot: x}\n",
        "2:32: accounts[0].discord.api_rot: unknown field: expected a field of accounts[0].discord, found 'api_rot'"
        " (nearest valid word: 'api_root'",
    ),
    "the same account twice": (
        "accounts:\n  - channel: telegram\n  - telegram: {token: {env: A}}\n",
        "accounts[1]: telegram:default is given twice; remove one, or give it another `account`",
    ),
}


@pytest.mark.parametrize(("text", "said"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_with_an_account_is_said(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "gateway.yaml"
    path.write_text(text)
    with pytest.raises(FileError) as caught:
        load_file(path)
    assert said in str(caught.value)
    assert "AAtoken" not in str(caught.value)
