"""Reading the configuration again while the server runs: what it can change, it changes; the rest is said."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec
from pydantic import BaseModel

from trunkline.app.serve.config import ServeConfig
from trunkline.app.serve.logs import LOGGER, Logs
from trunkline.app.serve.parts import secrets_of_accounts, tls_of, tokens_of
from trunkline.app.serve.redaction import secrets_of
from trunkline.app.serve.settings import Settings, load_file
from trunkline.core.channels import known_channels, nearest_channel
from trunkline.core.errors import ConfigError
from trunkline.core.gateway import Gateway
from trunkline.core.http.auth import Tokens
from trunkline.core.http.served import Reloaded
from trunkline.core.http.settings import HttpSettings

#: sections that a running server follows; of all others a change needs a restart
_APPLIED = ("gateway", "http.tokens", "http.token_file", "log", "finish_within")
#: parts of these that are fixed when the gateway starts
_FIXED = ("gateway.delivery.lease", "gateway.delivery.lanes")


def warn_of_channels(config: ServeConfig) -> None:
    """Log each channel that the rules name and that neither an account nor our code knows: nothing comes from it."""
    gateway = config.gateway
    named = {f"gateway.bindings[{n}].match.channel": rule.match.channel for n, rule in enumerate(gateway.bindings)}
    named |= {f"gateway.channels.{name}": name for name in gateway.channels if name != "defaults"}
    known = {*known_channels(), *(account.on for account in config.accounts)}
    for place, name in named.items():
        if name.strip().lower() not in known:
            meant = nearest_channel(name.strip().lower())
            advice = f": did you mean {meant!r}?" if meant else ""
            LOGGER.warning("%s: no account is on the channel %r%s", place, name, advice)


def name_limited_tokens(config: ServeConfig) -> None:
    """Log each token that may hand in messages and is bound to nobody, with what it cannot do and the line to add."""
    if not any(account.channel is not None for account in config.accounts):
        return
    owners = ", ".join(config.gateway.control.owners) if config.gateway.control.enabled else ""
    for n, token in enumerate(config.http.tokens):
        if "send" in token.scopes and "operate" not in token.scopes and not token.is_bound:
            LOGGER.info(
                "http.tokens[%d] (%s) hands in messages over HTTP, but opens no web chat%s: it is bound to nobody. For"
                " one person add `people: [%s]`; for a bridge `accounts` or `rooms`; for a program that may be anybody,"
                " the scope `operate`",
                n,
                token.name,
                f", and gives no commands of owners ({owners})" if owners else "",
                config.gateway.control.owners[0] if owners else "webchat:ID",
            )


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
        warn_of_channels(self._started)
        name_limited_tokens(self._started)
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
        warn_of_channels(config)
        name_limited_tokens(config)
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
