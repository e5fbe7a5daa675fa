"""Overview of the fakes: addresses, tokens and settings, for people and for programs."""

from __future__ import annotations

from typing import Any, Protocol, cast, runtime_checkable

from trunkline.sim.scenario.place_refs import all_places
from trunkline.sim.wire.fakes.fakes import Fakes
from trunkline.sim.wire.listener import WireListener
from trunkline.sim.wire.play.accounts import account_on


def overview(fakes: Fakes, control: str) -> dict[str, Any]:
    """The addresses, tokens and settings that a test needs, as JSON."""
    model = fakes.model
    return {
        "control": control,
        "platforms": {name: platform_of(listener) for name, listener in fakes.listeners.items()},
        "model": None if model is None else {"url": model.url, "name": "echo", "key": "any"},
        "people": list(fakes.world.scenario.world.people),
        "places": list(all_places(fakes.world.file.world)),
        "environment": environment(fakes),
        "accounts": sections(fakes),
        "endpoints": list(ENDPOINTS),
    }


ENDPOINTS = (
    "GET /",
    "POST /steps",
    "GET /messages?in=&by=&text=&after=&deleted=",
    "GET /messages/wait?count=&timeout=&in=&by=&text=&after=",
    "GET /faults",
    "POST /faults",
    "DELETE /faults",
    "POST /servers/{name}/{break|stop|start|restart}",
    "POST /tokens/{platform}",
    "POST /webhooks/{platform}",
    "POST /model/answers",
    "GET /model/asked?after=",
    "GET /events?after=",
    "POST /reset",
)


@runtime_checkable
class SignsRequests(Protocol):
    """A server that signs what it delivers to an address."""

    def signing_secret(self, account: str) -> str: ...


def platform_of(listener: WireListener) -> dict[str, Any]:
    """Address and tokens of a platform."""
    server = listener.server
    newest = server.platform.tokens.newest
    tokens = {account: server.token(account, newest(account)) for account in server.platform.spec.accounts}
    found: dict[str, Any] = {"url": server.url, "listens": listener.is_open, "tokens": tokens}
    if isinstance(server, SignsRequests):
        found["signing_secrets"] = {account: server.signing_secret(account) for account in tokens}
    return found


def sections(fakes: Fakes) -> list[dict[str, Any]]:
    """The section `accounts` of the file of `trunkline serve`. Its secrets are those of `environment`."""
    found: list[dict[str, Any]] = []
    for name, listener in fakes.listeners.items():
        server = listener.server
        for account in server.platform.spec.accounts:
            reached = account_on(server, server.platform, account)
            prefix = prefix_of(name, account, len(server.platform.spec.accounts))
            dumped = reached.config.model_dump(mode="json", exclude_unset=True, by_alias=True)
            found.append(_named(dumped, {secret: f"{prefix}{secret}" for secret in reached.environ}))
    return found


def environment(fakes: Fakes) -> dict[str, str]:
    """The secrets of all accounts, as environment variables."""
    found: dict[str, str] = {}
    for name, listener in fakes.listeners.items():
        server = listener.server
        for account in server.platform.spec.accounts:
            prefix = prefix_of(name, account, len(server.platform.spec.accounts))
            reached = account_on(server, server.platform, account)
            used = str(reached.config.model_dump(mode="json", exclude_unset=True))
            found.update(
                {f"{prefix}{secret}": value for secret, value in reached.environ.items() if f"'{secret}'" in used}
            )
    return found


def prefix_of(platform: str, account: str, accounts: int) -> str:
    """The prefix of an account's variables: ``TELEGRAM_``, with several accounts ``TELEGRAM_OPS_``."""
    own = "".join(char if char.isalnum() else "_" for char in account)
    return f"{platform}_".upper() if accounts == 1 else f"{platform}_{own}_".upper()


def _named(value: Any, names: dict[str, str]) -> Any:
    """A configuration with other names for its secrets."""
    if not isinstance(value, dict):
        return value
    given = cast("dict[str, Any]", value)
    if set(given) == {"env"}:
        return {"env": names.get(given["env"], given["env"])}
    return {key: _named(item, names) for key, item in given.items() if item is not None}
