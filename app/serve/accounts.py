"""The accounts of a gateway: which adapter serves each, their secrets, and the life of those with connections."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, cast

from trunkline.app.serve.redaction import named_secrets
from trunkline.app.serve.settings import Settings
from trunkline.core.adapters.config import AccountConfig
from trunkline.core.adapters.cursors import StoreCursors
from trunkline.core.adapters.factory import make_adapter
from trunkline.core.adapters.mailbox import MailboxAdapter
from trunkline.core.adapters.port import AdapterHost
from trunkline.core.env import Env
from trunkline.core.errors import ConfigError

if TYPE_CHECKING:
    from trunkline.core.adapters.port import PlatformAdapter
    from trunkline.core.channels import ChannelAdapter
    from trunkline.core.events import Recorder
    from trunkline.core.store import Store


def adapters_of(settings: Settings, store: Store, env: Env, events: Recorder) -> list[ChannelAdapter]:
    """The adapter of each account: a mailbox, or one of a real platform, which opens nothing yet.

    Raises `ConfigError` for secrets that are not there, for packages that are not installed, and for two accounts
    that sign in as the same one.
    """
    # All of them first: an account is not to wait for another one's package.
    _each_once(settings, secrets_of_accounts(settings))
    found: list[ChannelAdapter] = []
    wrong: list[str] = []
    for n, account in enumerate(settings.config.accounts):
        if account.channel is not None:
            found.append(MailboxAdapter(account.channel, account.account, store, env))
            continue
        try:
            found.append(make_adapter(account, _host(account, settings, store, env, events)))
        except ConfigError as error:
            wrong.append(f"accounts[{n}].{account.on}: {error.facts}")
    if wrong:
        raise ConfigError("\n".join(wrong))
    return found


#: platform -> the fields that say who signs in, and where
_WHO = {
    "telegram": ("token", "api_root"),
    "discord": ("token", "api_root"),
    "slack": ("bot_token", "api_root"),
    "matrix": ("user", "homeserver"),
    "signal": ("number", "daemon"),
    "whatsapp": ("phone_number_id", "api_root"),
}


def _each_once(settings: Settings, secrets: Mapping[str, str]) -> None:
    """Raise `ConfigError` if two accounts sign in as the same one: both would answer, or share the messages."""
    seen: dict[tuple[str, ...], str] = {}
    for n, account in enumerate(settings.config.accounts):
        if account.platform is None:
            continue
        at = f"accounts[{n}].{account.on}"
        values = (secrets.get(f"{at}.{name}") or getattr(account.platform, name) for name in _WHO[account.on])
        first = seen.setdefault((account.on, *map(str, values)), at)
        if first != at:
            field = f"{at}.{_WHO[account.on][0]}"
            raise ConfigError(f"{field}: the same as that of {first}: only one account can use it; remove one")


def _host(config: AccountConfig, settings: Settings, store: Store, env: Env, events: Recorder) -> AdapterHost:
    return AdapterHost(
        account=config.account,
        env=env,
        cursors=StoreCursors(store, config.on, config.account),
        events=events,
        folder=settings.folder,
        environ=settings.environ,
    )


def secrets_of_accounts(settings: Settings) -> dict[str, str]:
    """The secrets of the accounts, by their place in the configuration. Raises `ConfigError` for missing ones."""
    found = dict[str, str]()
    wrong: list[str] = []
    for at, secret in named_secrets(settings.config.accounts, "accounts"):
        try:
            found[at] = secret.read(settings.folder, settings.environ)
        except ConfigError as error:
            wrong.append(f"{at}: {error.facts}")
    if wrong:
        raise ConfigError("\n".join(wrong))
    return found


@asynccontextmanager
async def connecting(adapters: Sequence[ChannelAdapter]) -> AsyncGenerator[None]:
    """The life of the adapters with connections of their own: the gateway runs inside of it."""
    # Raised behind the task groups of the adapters, which would put it into a group.
    failure: Exception | None = None
    async with AsyncExitStack() as stack:
        for adapter in adapters:
            if not isinstance(adapter, MailboxAdapter):
                await stack.enter_async_context(cast("PlatformAdapter", adapter).running())
        try:
            yield
        except Exception as error:  # noqa: BLE001 -- raised again below
            failure = error
    if failure is not None:
        raise failure
