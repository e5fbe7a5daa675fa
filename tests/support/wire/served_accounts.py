"""The entries of `accounts` with which a server in a process of its own reaches platforms on the wire."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trunkline.sim.wire.play.accounts import account_on
from trunkline.sim.wire.server import WireListener


def accounts_of(folder: Path, listeners: Mapping[str, WireListener]) -> list[dict[str, Any]]:
    """An account for each platform, whose secrets are written into files of the folder."""
    return [account_of(folder, listener) for listener in listeners.values()]


def account_of(folder: Path, listener: WireListener, name: str = "default") -> dict[str, Any]:
    """An account on one platform, with its newest token."""
    platform = listener.server.platform
    known = account_on(listener.server, platform, name)
    owner = platform.channel if name == "default" else f"{platform.channel}.{name}"
    for variable, secret in known.environ.items():
        path = folder / f"{owner}.{variable}"
        path.write_text(secret)
        path.chmod(0o600)
    section = known.config.model_dump(exclude_unset=True)[platform.channel]
    return {"account": name, platform.channel: _in_files(section, owner)}


def _in_files(value: Any, owner: str) -> Any:
    """The section with a file for each variable."""
    if not isinstance(value, dict):
        return value
    if value.keys() == {"env"}:
        return {"file": f"{owner}.{value['env']}"}
    return {key: _in_files(one, owner) for key, one in value.items()}
