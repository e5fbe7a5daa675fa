"""The client library of OpenAI, loaded beside the event loop: loading takes seconds, and nothing else waits."""

from __future__ import annotations

from importlib.util import find_spec
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import anyio
import anyio.to_thread

from trunkline.core.agents.openai.config import OpenAIConfig
from trunkline.core.errors import ConfigError
from trunkline.core.well_formed import describe

if TYPE_CHECKING:
    from openai import AsyncOpenAI

MISSING = "the client library of OpenAI is not installed: pip install 'trunkline[openai]'"
_PACKAGES = ("openai", "httpx")


class LateClient:
    """The client of an agent, made at the first use.

    Raises `ConfigError` for an impossible key, and if the library is not installed. `given`: an
    `openai.AsyncOpenAI` to use instead of a client made of the configuration.
    """

    def __init__(self, config: OpenAIConfig, key: str | None, given: AsyncOpenAI | None = None) -> None:
        if key is not None and not (key.isascii() and key.isprintable() and " " not in key):
            raise ConfigError("the key for the endpoint has blanks, line ends or letters that no key has")
        if given is None and any(find_spec(name) is None for name in _PACKAGES):
            raise ConfigError(MISSING)
        self._config = config
        self._key = key
        self._client = given
        self._loading = anyio.Lock()

    async def get(self) -> AsyncOpenAI:
        """The client. Raises `ConfigError` if the library cannot be loaded."""
        if self._client is None:
            async with self._loading:
                if self._client is None:
                    # A cancelled caller does not stop the loading; its thread finishes it.
                    self._client = await anyio.to_thread.run_sync(
                        _client, self._config, self._key, abandon_on_cancel=True
                    )
        return self._client

    async def aclose(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()


def _client(config: OpenAIConfig, key: str | None) -> AsyncOpenAI:
    try:
        return _made(config, key)
    except Exception as error:
        # A half-installed library, or a proxy of the environment that httpx cannot use.
        raise ConfigError(f"the client library of OpenAI cannot be loaded: {describe(error)}") from error


def _made(config: OpenAIConfig, key: str | None) -> AsyncOpenAI:
    import httpx
    from openai import AsyncOpenAI

    from trunkline.core.agents.openai.error_body import bound

    limits = httpx.Timeout(config.silence, connect=min(config.silence, config.timeout))
    client = AsyncOpenAI(
        # Without a key the library would take a key from the environment, which may be that of another endpoint.
        api_key=key or "none",
        base_url=config.base_url,
        timeout=limits,
        max_retries=0,
        default_headers={"Accept-Encoding": "identity"},
        http_client=httpx.AsyncClient(
            timeout=limits,
            limits=httpx.Limits(max_connections=None),
            event_hooks={"response": [bound]},
            # A proxy that the environment names does not reach this machine.
            trust_env=not _is_here(config.base_url),
        ),
    )
    # Both come from the environment too.
    client.organization = client.project = None
    # The library loads the modules behind this at their first use, which would hold up every turn of the gateway then.
    _ = client.chat.completions.with_streaming_response
    return client


def _is_here(address: str) -> bool:
    """Whether an address is on this machine."""
    host = urlsplit(address).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
