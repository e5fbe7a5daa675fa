"""The host of an adapter of a real platform, and the protocols of such adapters in addition to `ChannelAdapter`."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol, runtime_checkable

import msgspec

from trunkline.core.adapters.own_names import OwnNames
from trunkline.core.channels.adapter import ChannelAdapter
from trunkline.core.config.secrets import Secret
from trunkline.core.env import Env
from trunkline.core.events import EventSink


class Cursors(Protocol):
    """Read positions of an account, kept over restarts: offsets, tokens of a sync, ids of messages.

    A value is saved only after every message before it is durable in the gateway (`ChannelAdapter.ack`).
    """

    async def load(self, name: str) -> str | None:
        """The last saved value; None: none was."""
        ...

    async def save(self, name: str, value: str) -> None:
        """Save a value durably. Raises `StoreError`."""
        ...


class AdapterHost(msgspec.Struct, frozen=True, kw_only=True):
    """The resources of an adapter, from the program around the gateway."""

    account: str
    #: clocks, ids and random numbers
    env: Env
    cursors: Cursors
    #: records `core.events.adapters` bodies: connections, dropped updates, refused webhooks
    events: EventSink
    #: folder of the configuration, for the files that it names
    folder: Path
    #: environment variables with secrets
    environ: Mapping[str, str]
    #: of all accounts of the gateway
    own: OwnNames = msgspec.field(default_factory=OwnNames)

    def secret(self, secret: Secret) -> str:
        """The text of a secret. Raises `ConfigError`."""
        return secret.read(self.folder, self.environ)


class PlatformAdapter(ChannelAdapter, Protocol):
    """An adapter with own connections."""

    def running(self) -> AbstractAsyncContextManager[object]:
        """Hold the adapter's resources; entered before the gateway runs, left after the gateway has stopped.

        Entering opens no connection: a platform that cannot be reached never holds up the start.
        """
        ...


class WebhookCall(msgspec.Struct, frozen=True, kw_only=True):
    """A request of a platform to the gateway's server, before anything was checked."""

    method: str
    #: below the account's own address; empty for that address itself
    tail: str
    query: tuple[tuple[str, str], ...]
    #: names in lower case
    headers: Mapping[str, str]
    body: bytes


class WebhookAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The response to a platform. Any status but 2xx asks for another delivery, where the platform repeats any."""

    status: int = 200
    body: bytes = b""
    media_type: str = "text/plain; charset=utf-8"


@runtime_checkable
class TakesWebhooks(Protocol):
    """An adapter whose platform calls the gateway: ``/v1/platforms/{channel}/{account}`` of the server.

    The address is open to everybody, so the adapter checks the signature before anything else.
    """

    async def webhook(self, call: WebhookCall) -> WebhookAnswer:
        """Answer a request: with success only after every message in the body is durable in the gateway."""
        ...
