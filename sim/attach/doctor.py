"""Checks which needs of a profile this machine meets. Downloads nothing, and starts no gateway.

`look` asks the machine, `checkup` judges what it said; the command line prints the result.
"""

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import msgspec

from trunkline.sim.attach.process.guard import NEW_NET, NEW_USER
from trunkline.sim.attach.profile import GatewayProfile, Need
from trunkline.sim.attach.rendering import filled
from trunkline.sim.scenario import scenario_home
from trunkline.sim.wire.servers import SERVER_PACKAGE

#: seconds that a program has to print its version; a big one on a busy machine needs some
_WITHIN = 60.0
_NUMBERS = re.compile(r"\d+(?:\.\d+)*")
#: enters a user and a network namespace of its own; ends with 0 if it could
_ENTER = f"import ctypes, sys; sys.exit(ctypes.CDLL(None).unshare({NEW_USER | NEW_NET}) != 0)"


class ProgramFound(msgspec.Struct, frozen=True, kw_only=True):
    """A program on this machine. `said`: what it printed when asked for its version; `problem`: why it did not."""

    path: str = ""
    said: str = ""
    problem: str = ""


class MachineFacts(msgspec.Struct, frozen=True, kw_only=True):
    #: where the gateway is installed, or would be
    install: str
    #: there is anything in that folder
    installed: bool
    #: what the profile's command for its version printed
    version: ProgramFound
    #: by the program as the profile has it
    programs: Mapping[str, ProgramFound]
    #: the gateway can be closed off from every network
    closed_off: bool
    #: a port on 127.0.0.1 can be listened on
    ports: bool
    #: the library of the fake platforms is installed
    servers: bool = True
    #: Trunkline runs from a clone, which has the tasks that install gateways
    clone: bool = True


class CheckupLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a checkup. ``missing`` prevents a run, ``note`` does not."""

    state: Literal["ok", "note", "missing"]
    what: str
    found: str
    remedy: str = ""


class Checkup(msgspec.Struct, frozen=True, kw_only=True):
    profile: str
    title: str
    #: installed; empty: not, or not known
    version: str
    #: versions with which the profile was tried
    tried: tuple[str, ...]
    lines: tuple[CheckupLine, ...]

    @property
    def ready(self) -> bool:
        return all(line.state != "missing" for line in self.lines)


def first_version(text: str) -> str:
    """The first version in a text, ``24.21.0`` of ``v24.21.0``; empty if there is none."""
    dotted = re.search(r"\d+(?:\.\d+)+", text)
    found = dotted or _NUMBERS.search(text)
    return found[0] if found else ""


def is_older(version: str, than: str) -> bool:
    """Whether a version is older than another; numbers that one of them lacks count as 0."""
    ours, other = ([int(part) for part in text.split(".")] for text in (version, than))
    length = max(len(ours), len(other))
    return ours + [0] * (length - len(ours)) < other + [0] * (length - len(other))


def checkup(profile: GatewayProfile, facts: MachineFacts) -> Checkup:
    """Judge what the machine said about a profile."""
    version = first_version(facts.version.said)
    lines = [*_installed(profile, facts, version)]
    needs = dict.fromkeys(
        [*profile.needs, *(need for platform in profile.platforms.values() for need in platform.needs)]
    )
    if any(line.state == "missing" for line in lines) and not facts.installed:
        # What is said of the whole is not said again of each part.
        needs = [need for need in needs if not need.program.startswith("${install}")]
    lines += [_needed(need, facts) for need in needs]
    if not facts.servers:
        remedy = "pip install 'trunkline[fakes]'"
        lines.append(CheckupLine(state="missing", what=SERVER_PACKAGE, found="it is not installed", remedy=remedy))
    if facts.closed_off:
        lines.append(CheckupLine(state="ok", what="network", found="closed off: the gateway reaches 127.0.0.1 only"))
    else:
        found = "the gateway cannot be closed off: user and network namespaces are not allowed here"
        remedy = "use Linux, and allow user namespaces; without them it runs, and could reach real platforms"
        lines.append(CheckupLine(state="note", what="network", found=found, remedy=remedy))
    if not facts.ports:
        found, remedy = (
            "no port on 127.0.0.1 can be listened on",
            "see `ip addr show lo`, and what limits processes here",
        )
        lines.append(CheckupLine(state="missing", what="ports", found=found, remedy=remedy))
    return Checkup(
        profile=profile.name,
        title=profile.title or profile.name,
        version=version,
        tried=profile.versions,
        lines=tuple(lines),
    )


def _installed(profile: GatewayProfile, facts: MachineFacts, version: str) -> Sequence[CheckupLine]:
    task = profile.install.task
    brings = f" ({profile.install.brings})" if profile.install.brings else ""
    get = f"{task}{brings}" if task else "install it, and name its folder with --install"
    if task and not facts.clone:
        get = f"in a clone of Trunkline: {get}; then name the folder with --install"
    what = profile.title or profile.name
    if not profile.version:
        return ()
    if not version:
        problem = facts.version.problem or "it did not print a version"
        found = problem if facts.installed else f"nothing is installed in {facts.install}"
        return (CheckupLine(state="missing", what=what, found=found, remedy=get),)
    found = f"{version} in {facts.install}" if facts.installed else version
    if profile.versions and version not in profile.versions:
        tried = ", ".join(profile.versions)
        remedy = f"the profile was tried with {tried}; texts and settings of another version may differ"
        return (CheckupLine(state="note", what=what, found=found, remedy=remedy),)
    return (CheckupLine(state="ok", what=what, found=found),)


def _needed(need: Need, facts: MachineFacts) -> CheckupLine:
    found = facts.programs.get(need.program, ProgramFound())
    what = Path(need.program).name
    version = first_version(found.said)
    wanted = " and ".join(
        [
            *([f"at least {need.at_least}"] if need.at_least else []),
            *([f"older than {need.below}"] if need.below else []),
        ]
    )
    said = f"{version or found.problem or 'an unknown version'}, {wanted} is needed"
    if not found.path:
        found_none = found.problem or f"there is no {need.program}"
        return CheckupLine(state="missing", what=what, found=found_none, remedy=need.get)
    fits = version and not (need.at_least and is_older(version, need.at_least))
    if wanted and not (fits and (not need.below or is_older(version, need.below))):
        return CheckupLine(state="missing", what=what, found=said, remedy=need.get)
    return CheckupLine(state="ok", what=what, found=" ".join(filter(None, [version, found.path])))


def look(profile: GatewayProfile, install: Path) -> MachineFacts:
    """Ask this machine what it has of a profile. `install`: where the gateway is, or would be, installed."""
    values = {"install": str(install), "python": sys.executable, "attach": str(Path(__file__).parent)}
    needs = [*profile.needs, *(need for platform in profile.platforms.values() for need in platform.needs)]
    asked = {need.program: [str(filled(need.program, values)), *need.version] for need in needs}
    version = ProgramFound()
    if profile.version:
        version = ask([str(filled(word, values)) for word in profile.version])
    return MachineFacts(
        install=str(install),
        installed=install.is_dir() and any(install.iterdir()),
        version=version,
        programs={name: ask(command) for name, command in asked.items()},
        closed_off=can_close_off(),
        ports=_can_listen(),
        servers=find_spec(SERVER_PACKAGE) is not None,
        clone=scenario_home().name == "scenarios",
    )


def ask(command: Sequence[str]) -> ProgramFound:
    """Run a program that prints its version. A command of one word is only looked for; it may be any file or folder."""
    path = shutil.which(command[0])
    if path is None and len(command) == 1 and Path(command[0]).exists():
        path = command[0]
    if path is None:
        return ProgramFound(problem=f"there is no {command[0]}")
    if len(command) == 1:
        return ProgramFound(path=path)
    try:
        done = subprocess.run(  # noqa: S603 -- the command of a profile that the user chose
            [path, *command[1:]],
            capture_output=True,
            check=False,
            stdin=subprocess.DEVNULL,
            timeout=_WITHIN,
            env={"PATH": os.environ.get("PATH", ""), "HOME": os.devnull, "NO_COLOR": "1"},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return ProgramFound(path=path, problem=f"it cannot be asked for its version: {error}")
    said = done.stdout.decode(errors="replace").strip()
    if done.returncode or not said:
        last = (done.stderr.decode(errors="replace").strip().splitlines() or ["it printed nothing"])[-1]
        return ProgramFound(path=path, problem=f"asked for its version it ended with {done.returncode}: {last}")
    return ProgramFound(path=path, said=said)


def can_close_off() -> bool:
    """Whether a process of this user may have a user and a network namespace of its own."""
    if sys.platform != "linux":
        return False
    done = subprocess.run([sys.executable, "-I", "-S", "-c", _ENTER], check=False, capture_output=True)  # noqa: S603
    return done.returncode == 0


def _can_listen() -> bool:
    try:
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen()
    except OSError:
        return False
    return True
