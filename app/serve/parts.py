"""The parts of a gateway that its configuration describes: agents, accounts, settings of the HTTP server."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import TYPE_CHECKING

from trunkline.app.serve.config import OWNER
from trunkline.app.serve.settings import Settings
from trunkline.app.serve.token_file import SHORTEST, token_of
from trunkline.core.agent import Agent
from trunkline.core.agents.factory import make_agent, used_by
from trunkline.core.env import Env
from trunkline.core.errors import ConfigError, HandError
from trunkline.core.hands.port import HandTask
from trunkline.core.http.endpoint import Caller, Scope
from trunkline.core.http.settings import HttpLimits, HttpSettings, Rate, Token, is_loopback, is_token

if TYPE_CHECKING:
    from trunkline.core.http.metrics.metrics import Metrics


class NoFunctions:
    """A `HandRunner` without functions: a server's hands are its agents, and workers."""

    def has(self, hand: str) -> bool:
        """Whether a hand exists."""
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


def meter(agents: Mapping[str, Agent], metrics: Metrics) -> None:
    """Show in the metrics what the agents use of their models."""
    metrics.model_answers.read = lambda: {(name,): used.answers for name, used in used_by(agents).items()}
    metrics.model_tokens.read = lambda: {
        (name, kind): tokens
        for name, used in used_by(agents).items()
        for kind, tokens in (("prompt", used.prompt_tokens), ("completion", used.completion_tokens))
    }


def tokens_of(settings: Settings) -> tuple[Token, ...]:
    """The tokens that the server accepts; makes the token file if it is missing. Raises `ConfigError`."""
    tokens = list[Token]()
    if settings.token_file is not None:
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
        caller = Caller(name=given.name, scopes=frozenset(Scope(scope) for scope in given.scopes))
        tokens.append(Token(caller=caller, secret=secret))
    return tuple(tokens)


def http_settings(settings: Settings, host: str, tokens: tuple[Token, ...]) -> HttpSettings:
    """The settings of the HTTP server. Raises `ConfigError` for an unusable certificate."""
    http = settings.config.http
    return HttpSettings(
        tokens=tokens,
        limits=HttpLimits(
            body=http.max_body,
            frame=http.max_frame,
            connections=http.max_connections,
            rate=Rate(per_second=http.rate.per_second, burst=http.rate.burst),
            stop_time=settings.config.finish_within,
        ),
        hosts=tuple(name.lower() for name in http.hosts),
        only_hosts=is_loopback(host) or bool(http.hosts),
        origins=http.origins,
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
