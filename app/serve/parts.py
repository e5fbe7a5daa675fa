"""The parts of a gateway that its configuration describes: agents, accounts, settings of the HTTP server."""

import os
import secrets
import ssl
import stat
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from trunkline.app.serve.config import OWNER
from trunkline.app.serve.machine import connection_limit, raise_descriptor_limit
from trunkline.app.serve.redaction import named_secrets
from trunkline.app.serve.settings import Settings
from trunkline.core.adapters.cursors import StoreCursors
from trunkline.core.adapters.factory import make_adapter
from trunkline.core.adapters.mailbox import MailboxAdapter
from trunkline.core.adapters.own_names import OwnNames
from trunkline.core.adapters.port import AdapterHost
from trunkline.core.agent import Agent
from trunkline.core.agents.factory import make_agent, used_by
from trunkline.core.config.base import is_loopback
from trunkline.core.env import Env
from trunkline.core.errors import ConfigError, HandError
from trunkline.core.hands.port import HandTask
from trunkline.core.http.clients import Bound, Caller, Scope
from trunkline.core.http.settings import HttpLimits, HttpSettings, Rate, Token, is_token

if TYPE_CHECKING:
    from trunkline.core.channels import ChannelAdapter
    from trunkline.core.events import Recorder
    from trunkline.core.http.metrics import Metrics
    from trunkline.core.store import Store

#: shorter tokens can be guessed
SHORTEST = 16
_LONGEST = 4096


def token_of(path: Path) -> str:
    """The token in a file, which is made if it is missing, readable by its owner alone. Raises `ConfigError`.

    A file that others can read is refused, not mended: they may have read it already, so its token must be replaced.
    """
    try:
        if not path.exists():
            _make(path)
        found = _read(path)
    except OSError as error:
        raise ConfigError(f"the token file {path}: {error.strerror or error}") from error
    except UnicodeDecodeError:
        raise ConfigError(f"the token file {path} is not text: delete it, and a new token is made") from None
    if len(found) < SHORTEST or not is_token(found):
        raise ConfigError(
            f"the token file {path} has no token: expected at least {SHORTEST} letters, digits and signs without"
            " spaces; delete it, and a new token is made"
        )
    return found


def _make(path: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(32) + "\n")
            file.flush()
            os.fsync(file.fileno())
        # Two servers may start at once: the first token counts for both.
        with suppress(FileExistsError):
            os.link(part, path)
    finally:
        part.unlink()


def _read(path: Path) -> str:
    with path.open("rb") as file:
        mode = os.fstat(file.fileno()).st_mode
        if not stat.S_ISREG(mode):
            raise ConfigError(f"the token file {path} is not a regular file")
        if sys.platform != "win32" and mode & 0o077:
            raise ConfigError(
                f"the token file {path} can be read by others (mode {stat.S_IMODE(mode):03o}), so its token is no"
                " secret any more: delete it, and a new one is made; if you are sure that nobody has read it: chmod 600"
            )
        return file.read(_LONGEST).decode("utf-8").strip()


class NoFunctions:
    """A `HandRunner` without functions: a server's hands are its agents, and workers."""

    def has(self, hand: str) -> bool:
        return False

    async def run(self, task: HandTask) -> str:
        """Never called."""
        raise HandError(task.hand)


def agents_of(settings: Settings, env: Env) -> dict[str, Agent]:
    """The agents by their ids. Raises `ConfigError`."""
    return {
        name: make_agent(name, implementation, folder=settings.folder, environ=settings.environ, env=env)
        for name, implementation in settings.config.agents.items()
    }


def meter(agents: Mapping[str, Agent], metrics: "Metrics") -> None:
    """Show in the metrics what the agents use of their models."""
    metrics.model_answers.read = lambda: {(name,): used.answers for name, used in used_by(agents).items()}
    metrics.model_tokens.read = lambda: {
        (name, kind): tokens
        for name, used in used_by(agents).items()
        for kind, tokens in (("prompt", used.prompt_tokens), ("completion", used.completion_tokens))
    }


def tokens_of(settings: Settings, *, make: bool = True) -> tuple[Token, ...]:
    """The tokens that the server accepts. `make`: make the token file if it is missing. Raises `ConfigError`."""
    tokens = list[Token]()
    if settings.token_file is not None and (make or settings.token_file.exists()):
        tokens.append(Token(caller=Caller(name=OWNER, scopes=frozenset(Scope)), secret=token_of(settings.token_file)))
    for n, given in enumerate(settings.config.http.tokens):
        try:
            secret = given.token.read(settings.folder, settings.environ)
        except ConfigError as error:
            raise ConfigError(f"http.tokens[{n}].token: {error.facts}") from error
        if len(secret) < SHORTEST:
            raise ConfigError(f"http.tokens[{n}].token: it has fewer than {SHORTEST} characters, so it can be guessed")
        if not is_token(secret):
            raise ConfigError(
                f"http.tokens[{n}].token: it cannot be sent in a header: use letters, digits and signs without spaces"
            )
        bound = None
        if given.is_bound:
            places = frozenset(place for _, _, place in settings.config.conversations_of(given))
            accounts = (name.partition(":") for name in given.accounts or ())
            bound = Bound(conversations=places, accounts=frozenset((channel, id_) for channel, _, id_ in accounts))
        caller = Caller(name=given.name, scopes=frozenset(Scope(scope) for scope in given.scopes), bound=bound)
        tokens.append(Token(caller=caller, secret=secret))
    return tuple(tokens)


def http_settings(settings: Settings, host: str, tokens: tuple[Token, ...]) -> HttpSettings:
    """The settings of the HTTP server. Raises `ConfigError` for an unusable certificate."""
    http, descriptors = settings.config.http, raise_descriptor_limit()
    connections = connection_limit(http.max_connections, descriptors)
    return HttpSettings(
        tokens=tokens,
        limits=HttpLimits(
            body=http.max_body,
            frame=http.max_frame,
            connections=connections,
            per_address=min(connections, http.max_connections_per_address or max(1, connections // 2)),
            accepts=min(HttpLimits().accepts, max(8, (descriptors - connections) // 8)),
            rate=Rate(per_second=http.rate.per_second, burst=http.rate.burst),
            stop_time=settings.config.finish_within,
        ),
        hosts=tuple(name.lower() for name in http.hosts),
        only_hosts=is_loopback(host) or bool(http.hosts),
        origins=http.origins,
        trusted_proxies=http.trusted_proxies,
        tls=tls_of(settings),
    )


def tls_of(settings: Settings) -> ssl.SSLContext | None:
    """The certificate and its key; none for plain HTTP. Raises `ConfigError`."""
    tls = settings.config.http.tls
    if tls is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        # An empty pass phrase: without one OpenSSL would ask for it on the terminal.
        context.load_cert_chain(settings.folder / tls.certificate, settings.folder / tls.key, password="")
    except (OSError, ValueError) as error:
        what = f"{tls.certificate} and {tls.key}"
        why = "they are no certificate and its key in PEM" if isinstance(error, ssl.SSLError) else str(error)
        raise ConfigError(f"http.tls: {what} cannot be used: {why}") from error
    return context


# The accounts: which adapter serves each, their secrets, and the life of those with connections.


def adapters_of(settings: Settings, store: "Store", env: Env, events: "Recorder") -> "list[ChannelAdapter]":
    """The adapter of each account: a mailbox, or one of a real platform, which opens nothing yet.

    Raises `ConfigError` for secrets that are not there, for packages that are not installed, and for two accounts
    that sign in as the same one.
    """
    # All of them first: an account is not to wait for another one's package.
    _each_once(settings, secrets_of_accounts(settings))
    found: list[ChannelAdapter] = []
    wrong: list[str] = []
    own = OwnNames()
    for n, account in enumerate(settings.config.accounts):
        if account.channel is not None:
            found.append(MailboxAdapter(account.channel, account.account, store, env))
            continue
        host = AdapterHost(
            account=account.account,
            env=env,
            cursors=StoreCursors(store, account.on, account.account),
            events=events,
            folder=settings.folder,
            environ=settings.environ,
            own=own,
        )
        try:
            found.append(make_adapter(account, host))
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
