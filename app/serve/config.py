"""The configuration file of ``trunkline serve``, as models."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, cast

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema, model_validator

from trunkline.core.adapters.config import AccountConfig
from trunkline.core.agents.config import AgentImplementation, EchoConfig
from trunkline.core.config.base import Duration, Model
from trunkline.core.config.gateway import GatewayConfig
from trunkline.core.config.secrets import Secret

#: where the server listens if nobody says otherwise; the port has no other use that we know of
LISTEN = "127.0.0.1:8420"
_AGENT_ID = r"^[a-z0-9][a-z0-9_-]{0,63}$"
_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?(B|kB|KB|MB|GB|KiB|MiB|GiB)?")
_UNITS = {"B": 1, "kB": 1000, "KB": 1000, "MB": 1000**2, "GB": 1000**3, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}


def parse_size(value: object) -> int:
    """Bytes from a whole number or from text such as ``500kB``. Raises `ValueError` with the accepted forms."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    found = _SIZE.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise ValueError("expected a size such as 500kB, 1MB or 1MiB")
    return int(float(found[1]) * _UNITS[found[2] or "B"])


Size = Annotated[
    int,
    BeforeValidator(parse_size),
    PlainSerializer(int),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "examples": ["500kB", "1MiB"]}]}),
]


class TokenConfig(Model):
    """A token of its own for somebody, with what it allows."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")
    """Who has it, in logs and messages. Letters, digits, `.`, `_` and `-`."""
    scopes: tuple[Literal["read", "send", "operate"], ...] = Field(min_length=1)
    """What it allows: `read` shows, `send` writes messages, `operate` changes queue, bindings, hands and configuration.
    Each is separate."""
    token: Secret
    """Where the token is."""


class RateConfig(Model):
    """How often one token, or one address without a token, may ask."""

    per_second: int = Field(default=1000, ge=1, le=1_000_000)
    """Requests per second over time."""
    burst: int = Field(default=2000, ge=1, le=10_000_000)
    """Requests at once, after a pause."""


class TlsConfig(Model):
    """HTTPS instead of HTTP."""

    certificate: str
    """Path of a PEM file with the certificate and its chain, relative to the configuration file."""
    key: str
    """Path of a PEM file with the private key, without a pass phrase."""


class HttpConfig(Model):
    """The HTTP server."""

    listen: str = LISTEN
    """Address and port, `[::1]:8420` for IPv6; port 0 takes a free one. Other machines get in only if the address is
    not loopback, and then `token_file` or `tokens` must be given."""
    token_file: str | None = None
    """File of the token with every scope, relative to the configuration file. It is created at the first start,
    readable by nobody else. By default `token` in the state folder, unless `tokens` are given."""
    tokens: tuple[TokenConfig, ...] = ()
    """More tokens."""
    hosts: tuple[str, ...] = ()
    """Names by which clients reach the server, e.g. `gateway.example.org`. With a loopback address only these and
    loopback's own are answered, so that no web page can pretend to be on this machine."""
    origins: tuple[str, ...] = ()
    """Origins of web pages of other hosts that may use the API, e.g. `https://chat.example.org`."""
    max_body: Size = 1_048_576
    """Largest body of a request, e.g. `1MB`."""
    max_frame: Size = 262_144
    """Largest frame of a WebSocket."""
    max_connections: int = Field(default=2000, ge=1, le=100_000)
    """Connections open at once."""
    rate: RateConfig = RateConfig()
    """How often one client may ask."""
    tls: TlsConfig | None = None
    """Certificate and key, for HTTPS."""

    @model_validator(mode="after")
    def _names_differ(self) -> HttpConfig:
        names = [token.name for token in self.tokens]
        for n, name in enumerate(names):
            if name in names[:n] or name == OWNER:
                raise ValueError(f"tokens[{n}].name: another token is called {name!r}; logs name tokens by it")
        return self


#: the name of the token of `token_file`
OWNER = "owner"


class LogConfig(Model):
    """The log on standard error."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    """The least important lines that are written. Only `debug` shows texts of messages."""
    format: Literal["text", "json"] = "text"
    """`text` for people, `json` for programs; one line for each entry."""


class RecordConfig(Model):
    """Trace files of what the gateway does."""

    folder: str
    """Where they are, relative to the configuration file; created if it is missing."""
    file_size: Size = 64 * 1024**2
    """A file that is larger is followed by a new one."""
    files: int = Field(default=20, ge=1, le=100_000)
    """Files that are kept; the oldest are deleted."""


def _record(value: object) -> object:
    return {"folder": value} if isinstance(value, str) else value


class ServeConfig(Model):
    """The file of ``trunkline serve --config``."""

    store: str | None = None
    """The store file, relative to this file; created if it is missing. By default `gateway.db` in the state folder."""
    http: HttpConfig = HttpConfig()
    gateway: GatewayConfig = GatewayConfig()
    """The configuration of the gateway, as in scenario files. Agents of `agents` need not be named in it."""
    agents: dict[Annotated[str, Field(pattern=_AGENT_ID)], AgentImplementation] = Field(
        default_factory=lambda: {"main": AgentImplementation(echo=EchoConfig())}
    )
    """What answers for each agent. By default `main` answers with what it was given."""
    accounts: tuple[AccountConfig, ...] = (AccountConfig(channel="webchat"),)
    """The accounts of the gateway: on real platforms, and mailboxes whose people are reached through the API."""
    log: LogConfig = LogConfig()
    record: Annotated[RecordConfig | None, BeforeValidator(_record)] = None
    """Record trace files: a folder, or a mapping with the limits."""
    finish_within: Duration = Field(default=10.0, le=3600)
    """How long turns, sends and requests that are in progress may take when the server stops. What is not done by then
    is done by the next process."""

    @model_validator(mode="before")
    @classmethod
    def _agents_are_known(cls, given: Any) -> Any:
        """Add the agents of `agents` to those of the gateway, so that route rules may name them."""
        if not isinstance(given, dict):
            return given
        whole = cast("dict[str, Any]", given)
        named, gateway = whole.get("agents"), whole.get("gateway", {})
        if not isinstance(named, dict) or not isinstance(gateway, dict):
            return whole
        section = cast("dict[str, Any]", gateway)
        known = section.get("agents", [])
        if not isinstance(known, list):
            return whole
        entries = cast("list[Any]", known)
        there = {cast("dict[str, Any]", entry).get("id") for entry in entries if isinstance(entry, dict)}
        names = [name for name in cast("dict[Any, Any]", named) if re.match(_AGENT_ID, str(name))]
        more = [{"id": name} for name in names if name not in there]
        return {**whole, "gateway": {**section, "agents": [*entries, *more]}} if more else whole

    @model_validator(mode="after")
    def _agents_are_there(self) -> ServeConfig:
        for n, agent in enumerate(self.gateway.agents):
            if agent.id not in self.agents:
                raise ValueError(
                    f"gateway.agents[{n}].id: nothing answers for {agent.id!r}; give it an entry in `agents`, "
                    f"e.g. `agents: {{{agent.id}: {{echo: {{}}}}}}`"
                )
        return self

    @model_validator(mode="after")
    def _accounts_differ(self) -> ServeConfig:
        seen = set[tuple[str, str]]()
        for n, account in enumerate(self.accounts):
            if (account.on, account.account) in seen:
                raise ValueError(
                    f"accounts[{n}]: {account.on}:{account.account} is given twice; remove one, or give it another"
                    " `account`"
                )
            seen.add((account.on, account.account))
        return self
