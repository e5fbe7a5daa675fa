"""A gateway profile: how to run a gateway that is not ours. Data only, in a YAML file."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from trunkline.core.config import Duration, Model


class ProfileFile(Model):
    """A file that is written into the gateway's folder before its first start."""

    format: Literal["json", "yaml", "text"] = "text"
    """How `content` is written."""
    content: Any = ""
    """A text, or for JSON and YAML a tree. `${...}` are filled in."""


class PlatformProfile(Model):
    """What a gateway needs for one platform, in addition."""

    environment: dict[str, str] = Field(default_factory=dict)
    """Further environment variables."""
    files: dict[str, Any] = Field(default_factory=dict)
    """By file: a tree that is merged into its content, or lines that are appended."""
    abilities: tuple[str, ...] = ()
    """What a scenario may need: `threads`, ..."""


class GatewayProfile(Model):
    """How to run a gateway that is not ours."""

    profile: Literal[1]
    """Version of the file format."""
    name: str
    """A word, for the command line."""
    title: str = ""
    """Its name for readers."""
    versions: tuple[str, ...] = ()
    """Versions with which this profile was tried."""
    version: tuple[str, ...] = ()
    """A command that prints the installed version."""
    command: tuple[str, ...] = Field(min_length=1)
    """The command that starts the gateway."""
    environment: dict[str, str] = Field(default_factory=dict)
    """Environment variables. The process gets these, `PATH`, and no other."""
    files: dict[str, ProfileFile] = Field(default_factory=dict)
    """Files in its folder, by path."""
    platforms: dict[str, PlatformProfile] = Field(min_length=1)
    """The platforms that it can be attached by."""
    start_within: Duration = 60.0
    """How long it may take until it is connected."""
    stop_within: Duration = 30.0
    """How long it may take to end after SIGTERM."""
    settle: Duration = 15.0
    """A run has ended when everything was answered, and then nothing happened for so long."""
    patience: Duration = 45.0
    """A question that nothing followed within this time counts as lost."""
    notices: tuple[str, ...] = ()
    """Texts that tell a person about the state of their question, and answer nothing. `*` stands for anything."""
    ignore: tuple[str, ...] = ()
    """Parts of prompts that the gateway adds, as regular expressions; the scripted model does not answer them."""
    tools: bool = True
    """Its turns offer tools to the model, so that a request without any is none: it asks for a title, for example."""
    obey: tuple[str, ...] = ()
    """Parts of prompts that tell the model to leave what was said before them, as regular expressions."""


def load_profile(path: Path) -> GatewayProfile:
    """Read a profile."""
    import yaml

    return GatewayProfile.model_validate(yaml.safe_load(path.read_text()))


SHIPPED = Path(__file__).parent / "profiles"
