"""The state folder of a user: the token and store of a server without a configuration, and which stores were served."""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from trunkline.core.store.postgres.address import is_address

STORE = "gateway.db"
TOKEN = "token"
#: the stores that this user's servers had, the newest first, a line each
_SERVED = "served"
#: more are forgotten
_MOST = 20


def state_folder(environ: Mapping[str, str]) -> Path:
    """Where a server without a configuration keeps its store and its token."""
    base = environ.get("XDG_STATE_HOME", "")
    # The specification: a path that is not absolute is ignored.
    root = Path(base) if os.path.isabs(base) else Path.home() / ".local" / "state"  # noqa: PTH117
    return root / "trunkline"


def note_served(folder: Path, store: str) -> None:
    """Note a store that is served, for operators' commands that name none; not where nothing can be written.

    `store`: its path, or its address without the password.
    """
    new = folder / f"{_SERVED}.{os.getpid()}"
    with suppress(OSError):
        if "\n" not in store:
            others = [name for name in served_stores(folder) if name != store]
            new.write_text("\n".join([store, *others][:_MOST]) + "\n", "utf-8")
            new.chmod(0o600)
            new.replace(folder / _SERVED)


def served_stores(folder: Path) -> list[str]:
    """The stores that were served and are still there, the newest first."""
    try:
        names = (folder / _SERVED).read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return []
    return [name for name in names if is_address(name) or Path(name).is_file()]
