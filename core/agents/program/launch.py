"""Starts the process of a program, and ends the whole process group."""

import os
import shutil
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import anyio
import anyio.abc
import msgspec

from trunkline.core.agents.program.config import ProgramConfig
from trunkline.core.agents.program.launcher import END
from trunkline.core.config.secrets import Secret
from trunkline.core.errors import ConfigError

#: variables of the gateway that every program has; none of them is a secret
INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR")
#: seconds for which a stop waits for a process that even SIGKILL does not end, such as a process that waits for a disk
_KILL_PATIENCE = 10.0
#: seconds in which the launcher ends everything, before it is killed itself
_END_PATIENCE = 5.0
_LAUNCHER = str(Path(__file__).with_name("launcher.py"))


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """The command, working directory and environment of a process, with every secret read."""

    command: tuple[str, ...]
    folder: Path
    environ: dict[str, str]

    def __repr__(self) -> str:
        return f"Launch({self.command[0]!r}, {str(self.folder)!r})"

    def wrong(self) -> str:
        """The reason against a start; empty if the program seems to be there."""
        if not self.folder.is_dir():
            return f"there is no folder {self.folder}"
        program = self.command[0]
        if "/" in program:
            return "" if os.access(self.folder / program, os.X_OK) else f"{self.folder / program} is no executable file"
        if shutil.which(program, path=self.environ.get("PATH", os.defpath)) is None:
            return f"there is no program {program!r} in PATH ({self.environ.get('PATH', os.defpath)})"
        return ""


def launch_of(config: ProgramConfig, folder: Path, environ: Mapping[str, str]) -> Launch:
    """Read the secrets and check for the program. Raises `ConfigError`."""
    variables = {name: environ[name] for name in INHERITED if name in environ}
    for name, value in config.env.items():
        variables[name] = value.read(folder, environ) if isinstance(value, Secret) else value
    launch = Launch(command=config.command, folder=folder / config.folder, environ=variables)
    if wrong := launch.wrong():
        raise ConfigError(wrong)
    return launch


async def start(launch: Launch) -> anyio.abc.Process:
    """Start the process, the leader of a new group. Raises `OSError`."""
    command = list(launch.command)
    if sys.platform == "linux" and sys.executable:
        keep = "yes" if "LC_CTYPE" in launch.environ else "no"
        command = [sys.executable, "-I", "-S", _LAUNCHER, str(os.getpid()), keep, *command]
    # Its own session: Ctrl-C in the terminal of the gateway is for the gateway, which ends its programs in order.
    return await anyio.open_process(command, cwd=launch.folder, env=launch.environ, start_new_session=True)


async def end(process: anyio.abc.Process, patience: float) -> None:
    """End a process: close the input, and after `patience` seconds each, SIGTERM to the group and SIGKILL to all."""
    if process.stdin is not None:
        with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            await process.stdin.aclose()
    with anyio.move_on_after(patience):
        await process.wait()
    if process.returncode is None:
        _signal(process, signal.SIGTERM)
        with anyio.move_on_after(patience):
            await process.wait()
    if process.returncode is None and sys.platform == "linux":
        # The launcher ends all that has left the group, too.
        with suppress(ProcessLookupError):
            os.kill(process.pid, END)
            os.kill(process.pid, signal.SIGCONT)
        with anyio.move_on_after(_END_PATIENCE):
            await process.wait()
    # Also after an orderly end: what the program has started and left behind ends with it.
    _signal(process, signal.SIGKILL)
    with anyio.move_on_after(_KILL_PATIENCE):
        await process.wait()


def _signal(process: anyio.abc.Process, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def ending_of(code: int | None) -> str:
    """How a process ended, in words."""
    if code is None:
        return "did not end"
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"
