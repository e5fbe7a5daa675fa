"""Reading the configuration again while the server runs: what it can change, it changes; the rest is said."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec
from pydantic import BaseModel

from trunkline.app.serve.accounts import secrets_of_accounts
from trunkline.app.serve.config import ServeConfig
from trunkline.app.serve.logs import LOGGER, Logs
from trunkline.app.serve.parts import tls_of, tokens_of
from trunkline.app.serve.redaction import secrets_of
from trunkline.app.serve.settings import Settings, load_file
from trunkline.core.errors import ConfigError
from trunkline.core.gateway import Gateway
from trunkline.core.http.auth import Tokens
from trunkline.core.http.served import Reloaded
from trunkline.core.http.settings import HttpSettings

#: sections that a running server follows; of all others a change needs a restart
_APPLIED = ("gateway", "http.tokens", "http.token_file", "log", "finish_within")
#: parts of these that are fixed when the gateway starts
_FIXED = ("gateway.delivery.lease", "gateway.delivery.lanes")


@dataclass(slots=True, kw_only=True)
class Reloader:
    """Reads the configuration again. `settings` are the ones that hold."""

    settings: Settings
    gateway: Gateway
    tokens: Tokens
    http: HttpSettings
    logs: Logs | None
    _revision: int = 1
    _started: ServeConfig = field(init=False)
    #: the secrets with which the accounts have begun, by their places
    _secrets: dict[str, str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._started = self.settings.config
        self._secrets = secrets_of_accounts(self.settings)

    def reload(self) -> Reloaded:
        """Read the file, check all of it, then follow it. Raises `UsageError`; nothing is changed then."""
        before = self.settings
        config = before.config if before.path is None else load_file(before.path)
        _check_agents(self._started, config)
        after = msgspec.structs.replace(before, config=config)
        tokens = tokens_of(after)
        secrets = secrets_of_accounts(after)
        if (tls := self.http.tls) is not None:
            tls_of(after)
        if config.gateway != before.config.gateway:
            self._revision = self.gateway.reload(config.gateway)
        self.tokens.replace(tokens)
        if tls is not None and (names := config.http.tls) is not None:
            # A renewed certificate; connections that are open keep the old one.
            tls.load_cert_chain(after.folder / names.certificate, after.folder / names.key, password="")
        if self.logs is not None:
            self.logs.redaction.add([*(token.secret for token in tokens), *secrets_of(after)])
            self.logs.set(after.log_level, after.log_format)
        self.settings = after
        changed = tuple(path for path in differences(before.config, config) if _applies(path))
        needs_restart = tuple(path for path in differences(self._started, config) if not _applies(path))
        if "accounts" not in needs_restart:
            # An adapter holds what it has signed in with. A new token behind the same name is a change all the same.
            needs_restart += tuple(at for at, secret in self._secrets.items() if secrets.get(at) != secret)
        LOGGER.info("the configuration was read again, and changes: %s", ", ".join(changed) or "nothing")
        if needs_restart:
            LOGGER.warning("only a restart changes: %s", ", ".join(needs_restart))
        return Reloaded(revision=self._revision, changed=changed, needs_restart=needs_restart)


def _check_agents(before: ServeConfig, after: ServeConfig) -> None:
    added = [name for name in after.agents if name not in before.agents]
    if added:
        raise ConfigError(
            f"agents.{added[0]}: an agent cannot be added while the gateway runs: restart it; nothing was changed"
        )


def _applies(path: str) -> bool:
    inside = any(path == prefix or path.startswith(f"{prefix}.") for prefix in _APPLIED)
    return inside and not any(path == prefix or path.startswith(f"{prefix}.") for prefix in _FIXED)


def differences(before: object, after: object, at: str = "") -> Iterator[str]:
    """The fields that differ, as dotted paths; of sections their fields, of lists and mappings the whole."""
    if before == after:
        return
    if isinstance(before, BaseModel) and type(before) is type(after):
        for name in type(before).model_fields:
            path = f"{at}.{name}" if at else name
            yield from differences(getattr(before, name), getattr(after, name), path)
    else:
        yield at
