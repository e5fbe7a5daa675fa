"""States of gateways that have run before: made once, kept in a cache folder, and copied for each try.

The first start of a gateway on an empty folder may take ten times as long as the next one, and its first answer too.
"""

import fcntl
import hashlib
import os
import shutil
import stat
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import BinaryIO

import anyio

from trunkline.core.errors import UsageError
from trunkline.sim.attach.profile import GatewayProfile

_LOOK = 0.2

_CONVERSATION = """\
scenario: 2
title: The first conversation of a gateway, whose state is kept
world:
  people: [robin]
{platforms}
cast:
  agents:
    main:
      - when: {{text: "*"}}
        do: [{{reply: "Good day."}}]
script:
{steps}
"""


def first_conversation(platforms: Iterable[str]) -> str:
    """A scenario in which somebody says something on each platform."""
    names = sorted(platforms)
    return _CONVERSATION.format(
        platforms="\n".join(f"  {name}: {{}}" for name in names),
        steps="\n".join(
            f'  - {{at: {at}s, as: robin, in: "{name}/@robin", say: "good day"}}' for at, name in enumerate(names)
        ),
    )


def state_name(profile: GatewayProfile, version: str, platforms: Iterable[str], install: str) -> str:
    """The name of a state: another version, profile, place of installation or set of platforms has another state."""
    parts = (profile.model_dump_json(), version, ",".join(sorted(platforms)), install)
    return "-".join(filter(None, [profile.name, version, hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]]))


async def warm_state(states: Path, name: str, make: Callable[[Path], Awaitable[None]]) -> Path:
    """The folder with a state. The first process that wants it makes it, others wait. Raises `UsageError`.

    `make`: is to leave the state below ``home`` of the folder that it gets.
    """
    kept, making = states / name, states / f"{name}.making"
    try:
        with _lock_file(states, name) as lock:
            await _lock(lock.fileno())
            if not kept.is_dir():
                _empty(making)
                await make(making)
                (making / "home").rename(kept)
                shutil.rmtree(making, ignore_errors=True)
            return kept
    except OSError as error:
        raise UsageError(f"{states}: {error.strerror or error}: no state of a gateway can be kept there") from error


def _lock_file(states: Path, name: str) -> BinaryIO:
    states.mkdir(parents=True, exist_ok=True)
    return (states / f"{name}.lock").open("wb")


def _empty(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()


async def _lock(descriptor: int) -> None:
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            await anyio.sleep(_LOOK)
        else:
            return


def leave_out(home: Path, patterns: Iterable[str]) -> None:
    """Remove what matches, files and folders, from a state. Raises `OSError`."""
    for path in [path for pattern in patterns for path in home.glob(pattern)]:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def copy_state(state: Path, home: Path) -> None:
    """Copy a state to a new folder. Raises `UsageError`."""
    try:
        shutil.copytree(state, home, symlinks=True, ignore=_not_copied)
    except shutil.Error as error:
        (source, _, why), *_ = error.args[0]
        raise UsageError(f"{source}: {why}: the state of a gateway that ran before cannot be copied") from error
    except OSError as error:
        raise UsageError(f"{error.filename or home}: {error.strerror or error}: no state can be copied") from error


def _not_copied(folder: str, names: list[str]) -> list[str]:
    there = [(name, (Path(folder) / name).lstat().st_mode) for name in names]
    return [os.fspath(name) for name, mode in there if stat.S_ISSOCK(mode) or stat.S_ISFIFO(mode)]
