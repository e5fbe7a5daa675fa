"""The configuration file of ``trunkline serve``, as models."""

import ipaddress
import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal, cast

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, WithJsonSchema, model_validator

from trunkline.core.adapters.config import AccountConfig
from trunkline.core.agents.config import AgentImplementation, EchoConfig
from trunkline.core.channels import rules_for
from trunkline.core.config.base import Duration, Model
from trunkline.core.config.gateway import GatewayConfig
from trunkline.core.config.secrets import Secret
from trunkline.core.values import ChatKind

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


def check_network(value: str) -> str:
    """Raise `ValueError` for what is neither an address nor a network."""
    try:
        ipaddress.ip_network(value)
    except ValueError:
        raise ValueError("expected an address or a network, such as 127.0.0.1 or 10.0.0.0/8") from None
    return value


class TokenConfig(Model):
    """A token of its own for somebody, with what it allows."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")
    """Who has it, in logs and messages. Letters, digits, `.`, `_` and `-`."""
    scopes: tuple[Literal["read", "send", "operate"], ...] = Field(min_length=1)
    """What it allows: `read` shows everything that is said to everybody, `send` hands in messages of any person, shows
    what they cause, and sends to anybody, `operate` changes queue, bindings, hands and configuration, and may be any
    person. Each is separate."""
    people: tuple[str, ...] | None = Field(default=None, min_length=1)
    """Binds it to people: it speaks as nobody else, and reads only what they and the gateway say to each other. Each is
    `<channel>:<id>`, e.g. `webchat:ana`, or a name of `gateway.session.identity_links`, for all ids of the link. The
    web chat, and commands of `control.owners` through a mailbox, need it or the scope `operate`."""
    rooms: tuple[str, ...] | None = Field(default=None, min_length=1)
    """Binds it to groups and channels: it hands in and reads what is said there alone. Each is `<channel>:<kind>:<id>`,
    e.g. `telegram:group:-100`."""
    accounts: tuple[str, ...] | None = Field(default=None, min_length=1)
    """Binds it to mailbox accounts, for the bridge of a platform: it hands in messages of anybody there, and reads all
    that is said there. Each is `<channel>:<account>`, e.g. `telegram:default`."""
    token: Secret
    """Where the token is."""

    @property
    def is_bound(self) -> bool:
        """Whether it is bound to people, rooms or accounts."""
        return any(names is not None for names in (self.people, self.rooms, self.accounts))

    @model_validator(mode="after")
    def _bound_tokens_do_not_operate(self) -> "TokenConfig":
        if "operate" in self.scopes:
            for name in ("people", "rooms", "accounts"):
                if getattr(self, name) is not None:
                    raise ValueError(
                        f"scopes: `operate` concerns the whole gateway: leave it out, or leave out `{name}`"
                    )
        return self


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
    max_connections: int | None = Field(default=None, ge=1, le=100_000)
    """Connections open at once. By default, and at most, what the open files of the process allow: three quarters of
    them, and 10,000 by default."""
    max_connections_per_address: int | None = Field(default=None, ge=1, le=100_000)
    """Those of one address, or of one /64 of IPv6, and its requests and sockets behind a proxy. By default half."""
    trusted_proxies: tuple[Annotated[str, AfterValidator(check_network)], ...] = ()
    """Addresses and networks of proxies in front of the server, e.g. `10.0.0.0/8`. They may open any number of
    connections, and their requests are of the last address in `X-Forwarded-For` that is none of a proxy."""
    rate: RateConfig = RateConfig()
    """How often one client may ask."""
    tls: TlsConfig | None = None
    """Certificate and key, for HTTPS."""

    @model_validator(mode="after")
    def _names_differ(self) -> "HttpConfig":
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


#: what a name in a field of a token looks like, and what else it may be
_NAMES = {
    "people": ("CHANNEL:ID", ", or a name of gateway.session.identity_links"),
    "rooms": ("CHANNEL:group:ID or CHANNEL:channel:ID", ""),
}


class ServeConfig(Model):
    """The file of ``trunkline serve --config``."""

    store: str | Secret | None = None
    """The store file, relative to this file; created if it is missing. By default `gateway.db` in the state folder.

    Or a schema on a PostgreSQL server, `postgresql://USER@HOST/DATABASE?schema=NAME`; with the password in it, where
    that address is: `{env: NAME}` or `{file: PATH}`."""
    newer_store: Literal["end", "wait"] = "end"
    """What a server does whose store was contracted for a newer Trunkline (`trunkline store migrate`): `end` with code
    2, or `wait`, unready, until the store is one that it knows."""
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
    record: Annotated[
        RecordConfig | None, BeforeValidator(_record, json_schema_input_type=str | RecordConfig | None)
    ] = None
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
    def _agents_are_there(self) -> "ServeConfig":
        for n, agent in enumerate(self.gateway.agents):
            if agent.id not in self.agents:
                raise ValueError(
                    f"gateway.agents[{n}].id: nothing answers for {agent.id!r}; give it an entry in `agents`, "
                    f"e.g. `agents: {{{agent.id}: {{echo: {{}}}}}}`"
                )
        return self

    @model_validator(mode="after")
    def _places_of_tokens_are_there(self) -> "ServeConfig":
        written = dict[tuple[str, ChatKind, str], str]()
        accounts = sorted(f"{account.channel}:{account.account}" for account in self.accounts if account.channel)
        for n, token in enumerate(self.http.tokens):
            kinds = dict[tuple[str, str], ChatKind]()
            for field, name, (channel, kind, id_) in self.conversations_of(token):
                at, mailboxes = f"http.tokens[{n}].{field}: {name!r}", self._mailboxes()
                if channel not in mailboxes or not id_:
                    there = ", ".join(mailboxes) or "none"
                    raise ValueError(
                        f"{at}: expected {_NAMES[field][0]} with the channel of a mailbox account ({there})"
                        f"{_NAMES[field][1]}"
                    )
                same = (channel, kind, rules_for(channel).fold(kind, id_))
                if written.setdefault(same, id_) != id_:
                    raise ValueError(f"{at}: {channel} does not distinguish it from {written[same]!r}: write one")
                if kinds.setdefault((channel, id_), kind) is not kind:
                    raise ValueError(f"{at}: it is bound to a {kinds[channel, id_]} of this id: give each a token")
            for name in token.accounts or ():
                if name not in accounts:
                    raise ValueError(
                        f"http.tokens[{n}].accounts: {name!r}: expected CHANNEL:ACCOUNT, a mailbox account"
                        f" ({', '.join(accounts) or 'none'})"
                    )
        return self

    def conversations_of(self, token: TokenConfig) -> Iterator[tuple[str, str, tuple[str, ChatKind, str]]]:
        """The conversations that a token is bound to, each with the field and the name that mean it."""
        for name in token.people or ():
            yield from (("people", name, (channel, ChatKind.DIRECT, id_)) for channel, id_ in self.people_called(name))
        for name in token.rooms or ():
            channel, kind, id_ = (*name.split(":", 2), "", "")[:3]
            known = kind in (ChatKind.GROUP, ChatKind.CHANNEL)
            yield "rooms", name, (channel, ChatKind(kind) if known else ChatKind.GROUP, id_ if known else "")

    def people_called(self, name: str) -> tuple[tuple[str, str], ...]:
        """The people whom a name in `people` of a token means, as channel and id."""
        channel, colon, person = name.partition(":")
        if colon:
            return ((channel, person),)
        # An id without a channel means that person on every channel.
        return tuple(
            (channel, entry.removeprefix(f"{channel}:"))
            for entry in self.gateway.session.identity_links.get(name, ())
            for channel in self._mailboxes()
            if ":" not in entry or entry.startswith(f"{channel}:")
        ) or ((name, ""),)

    def _mailboxes(self) -> list[str]:
        return sorted({account.channel for account in self.accounts if account.channel is not None})

    @model_validator(mode="after")
    def _accounts_differ(self) -> "ServeConfig":
        seen = set[tuple[str, str]]()
        for n, account in enumerate(self.accounts):
            if (account.on, account.account) in seen:
                raise ValueError(
                    f"accounts[{n}]: {account.on}:{account.account} is given twice; remove one, or give it another"
                    " `account`"
                )
            seen.add((account.on, account.account))
        return self
