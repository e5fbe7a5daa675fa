"""The accounts of a gateway: which adapter serves each, their secrets, and the life of those with connections."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, cast

from trunkline.app.serve.redaction import named_secrets
from trunkline.app.serve.settings import Settings
from trunkline.core.adapters.config import AccountConfig
from trunkline.core.adapters.cursors import StoreCursors
from trunkline.core.adapters.factory import make_adapter
from trunkline.core.adapters.port import AdapterHost
from trunkline.core.channels.mailbox import MailboxAdapter
from trunkline.core.env import Env
from trunkline.core.errors import ConfigError

if TYPE_CHECKING:
    from trunkline.core.adapters.port import PlatformAdapter
    from trunkline.core.channels import ChannelAdapter
    from trunkline.core.events import Recorder
    from trunkline.core.store import Store


def adapters_of(settings: Settings, store: Store, env: Env, events: Recorder) -> list[ChannelAdapter]:
    """The adapter of each account: a mailbox, or one of a real platform, which opens nothing yet.

    Raises `ConfigError` for a secret that is not there, and for a package that is not installed.
    """
    # All of them first: an account is not to wait for another one's package.
    secrets_of_accounts(settings)
    found: list[ChannelAdapter] = []
    for n, one in enumerate(settings.config.accounts):
        if one.channel is not None:
            found.append(MailboxAdapter(one.channel, one.account, store, env))
            continue
        try:
            found.append(make_adapter(one, _host(one, settings, store, env, events)))
        except ConfigError as error:
            raise ConfigError(f"accounts[{n}].{one.on}: {error.facts}") from error
    return found


def _host(one: AccountConfig, settings: Settings, store: Store, env: Env, events: Recorder) -> AdapterHost:
    return AdapterHost(
        account=one.account,
        env=env,
        cursors=StoreCursors(store, one.on, one.account),
        events=events,
        folder=settings.folder,
        environ=settings.environ,
    )


def secrets_of_accounts(settings: Settings) -> dict[str, str]:
    """The secrets of the accounts, by their place in the configuration. Raises `ConfigError` for a missing one."""
    found = dict[str, str]()
    for at, secret in named_secrets(settings.config.accounts, "accounts"):
        try:
            found[at] = secret.read(settings.folder, settings.environ)
        except ConfigError as error:
            raise ConfigError(f"{at}: {error.facts}") from error
    return found


@asynccontextmanager
async def connecting(adapters: Sequence[ChannelAdapter]) -> AsyncGenerator[None]:
    """The life of the adapters with connections of their own: the gateway runs inside of it."""
    # Raised behind the task groups of the adapters, which would put it into a group.
    failure: Exception | None = None
    async with AsyncExitStack() as stack:
        for one in adapters:
            if not isinstance(one, MailboxAdapter):
                await stack.enter_async_context(cast("PlatformAdapter", one).running())
        try:
            yield
        except Exception as error:  # noqa: BLE001 -- raised again below
            failure = error
    if failure is not None:
        raise failure
