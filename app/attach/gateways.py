"""The gateways that a command line names: by the name of a shipped profile, or by the path of a profile file."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import msgspec

from trunkline.app.view.text.cells import clean
from trunkline.core.errors import UnknownName, UsageError
from trunkline.sim import scenario_home
from trunkline.sim.attach.profile import GatewayProfile
from trunkline.sim.attach.profile_files import load_profile, profile_path
from trunkline.sim.attach.rendering import filled

#: where `make attach-NAME` installs, below the clone
INSTALLED = ".gateways"
#: seconds that a gateway may take to print its version
_VERSION_WITHIN = 60.0


class AttachedGateway(msgspec.Struct, frozen=True, kw_only=True):
    """A gateway that can be attached. Paths are absolute."""

    profile: GatewayProfile
    #: the file of the profile
    path: Path
    #: where it is installed
    install: Path
    #: its version; empty if its profile has no command that prints it
    version: str = ""
    #: how the command line names it: ``--gateway hermes``
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
    clone = scenario_home().parent
    home = clone if (clone / "pyproject.toml").is_file() else Path.cwd()
    return home / INSTALLED / (profile.install.folder or profile.name)


def attached(name: str, install: Path | None = None) -> AttachedGateway:
    """The gateway that a profile is about, with the version that is installed. Raises `UsageError` if nothing is."""
    path = find_profile(name)
    profile = load_profile(path)
    where = (install or install_folder(profile)).absolute()
    version = installed_version(profile, where)
    return AttachedGateway(profile=profile, path=path, install=where, version=version, option=("--gateway", name))


def installed_version(profile: GatewayProfile, install: Path) -> str:
    """What the gateway calls its version. Raises `UsageError` with the remedy if it is not installed."""
    if not profile.version:
        return ""
    values = {"install": str(install), "python": sys.executable, "home": str(install)}
    command = [str(one) for one in filled(list(profile.version), values)]
    try:
        done = subprocess.run(  # noqa: S603 -- the command of a profile that the user chose
            command,
            capture_output=True,
            check=False,
            stdin=subprocess.DEVNULL,
            timeout=_VERSION_WITHIN,
            env={"PATH": os.environ.get("PATH", ""), "HOME": os.devnull},
        )
    except FileNotFoundError as error:
        raise UsageError(f"{profile.name} is not installed: there is no {command[0]}. {remedy(profile)}") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"{profile.name}: its version cannot be asked for: {error}") from error
    said = done.stdout.decode(errors="replace").strip().split("\n")[0]
    if done.returncode or not said:
        last = done.stderr.decode(errors="replace").strip().split("\n")[-1]
        raise UsageError(
            f"{profile.name}: the command that prints its version failed with the code {done.returncode}: "
            f"{clean(last)}. {remedy(profile)}"
        )
    return clean(said)


def remedy(profile: GatewayProfile) -> str:
    """How to get a gateway."""
    install = f"`{profile.install.task}` installs it; " if profile.install.task else ""
    return f"{install}`trunkline attach doctor {profile.name}` says what is missing"
