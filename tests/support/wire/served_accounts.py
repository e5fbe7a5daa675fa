"""The entries of `accounts` with which a server in a process of its own reaches platforms on the wire."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trunkline.sim.wire.listener import WireListener
from trunkline.sim.wire.play.accounts import account_on


def accounts_of(folder: Path, listeners: Mapping[str, WireListener]) -> list[dict[str, Any]]:
    """An account for each platform, whose secrets are written into files of the folder."""
    return [account_of(folder, listener) for listener in listeners.values()]


def account_of(folder: Path, listener: WireListener) -> dict[str, Any]:
    """The account of one platform, with its newest token."""
    platform = listener.server.platform
    known = account_on(listener.server, platform, "default")
    for name, secret in known.environ.items():
        path = folder / f"{platform.channel}.{name}"
        path.write_text(secret)
        path.chmod(0o600)
    section = known.config.model_dump(exclude_unset=True)[platform.channel]
    return {platform.channel: _in_files(section, platform.channel)}


def _in_files(value: Any, channel: str) -> Any:
    """The section with a file for each variable."""
    if not isinstance(value, dict):
        return value
    if value.keys() == {"env"}:
        return {"file": f"{channel}.{value['env']}"}
    return {key: _in_files(one, channel) for key, one in value.items()}
