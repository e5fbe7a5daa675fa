"""The gateways that a command line names: by the name of a shipped profile, or by the path of a profile file."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import msgspec

from trunkline.app.report.json_junit import write_whole
from trunkline.core.errors import UnknownName, UsageError
from trunkline.sim import scenario_home
from trunkline.sim.attach.doctor import Checkup, checkup, look
from trunkline.sim.attach.own_command import own_profile, profile_text
from trunkline.sim.attach.profile import GatewayProfile
from trunkline.sim.attach.profile_files import load_profile, profile_path

#: where `make attach-NAME` installs, below the clone
INSTALLED = ".gateways"
#: where their states are kept, beside that
STATES = ".attach"


class AttachedGateway(msgspec.Struct, frozen=True, kw_only=True):
    """A gateway that can be attached. Paths are absolute."""

    profile: GatewayProfile
    #: the file of the profile
    path: Path
    #: where it is installed
    install: Path
    #: its version; empty if its profile has no command that prints it
    version: str = ""
    #: how a command names it
    option: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of its profile."""
        return self.profile.name

    @property
    def label(self) -> str:
        """For readers: ``hermes 0.19.0``."""
        return f"{self.name} {self.version}".strip()

    @property
    def fingerprint(self) -> str:
        """A digest of the profile and the version: what was tried with another one is tried again."""
        text = self.profile.model_dump_json()
        return hashlib.sha256(f"{text}\0{self.version}".encode()).hexdigest()


def find_profile(name: str) -> Path:
    """The file of a profile. Raises `UsageError` for one that does not exist, with the nearest name."""
    try:
        return profile_path(name).absolute()
    except UnknownName as error:
        raise UsageError(f"--gateway: {error.facts}") from error


def install_folder(profile: GatewayProfile) -> Path:
    """Where a gateway is installed: below the clone, else below the working directory."""
    return _home() / INSTALLED / (profile.install.folder or profile.name)


def state_folder() -> Path:
    """Where states of gateways that have had their first conversation are kept, for tries to begin with."""
    return _home() / STATES


def _home() -> Path:
    clone = scenario_home().parent
    return clone if (clone / "pyproject.toml").is_file() else Path.cwd()


def attached(name: str, install: Path | None = None) -> AttachedGateway:
    """The gateway that a profile is about. Raises `UsageError` with every remedy if it cannot be run here."""
    found, where = examined(name, install)
    # What one remedy brings is named once.
    missing = {line.remedy: line for line in reversed(found.lines) if line.state == "missing"}
    if missing:
        lines = [f"{found.profile} cannot be attached on this machine:"]
        lines += [
            f"  {requirement.what}: {requirement.found}{f'; {requirement.remedy}' if requirement.remedy else ''}"
            for requirement in reversed(missing.values())
        ]
        raise UsageError("\n".join(lines))
    path = find_profile(name)
    return AttachedGateway(
        profile=load_profile(path), path=path, install=where, version=found.version, option=("--gateway", name)
    )


def own_gateway(command: str, work: Path, notices: Sequence[str] = ()) -> AttachedGateway:
    """The gateway that a command starts. Its profile is written below `work`. Raises `UsageError`."""
    profile = own_profile(command, notices=notices)
    path = work / f"{profile.name}.yaml"
    option = ("--command", command, *(word for notice in notices for word in ("--notice", notice)))
    write_whole(path, profile_text(profile).encode())
    return AttachedGateway(profile=profile, path=path, install=Path.cwd(), option=option)


def examined(name: str, install: Path | None = None) -> tuple[Checkup, Path]:
    """Examine this machine: what a profile needs, what is there, and where the gateway is or would be installed."""
    profile = load_profile(find_profile(name))
    where = (install or install_folder(profile)).absolute()
    return checkup(profile, look(profile, where)), where
