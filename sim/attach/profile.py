"""A gateway profile: how to run a gateway that is not ours. Data only, in a YAML file.

`trunkline.sim.attach.profile_files` reads them. Texts may have slots such as ``${telegram.url}`` where their
description says so; `trunkline.sim.attach.rendering` lists them. ``$${`` stands for ``${``.
"""

import re
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, Field

from trunkline.core.config import Duration, Model
from trunkline.core.config.base import Flag

#: the ability to keep people apart who write to it in private
MANY_PEOPLE = "many-people"
#: the ability to answer in the threads of a platform
THREADS = "threads"
VERSION = re.compile(r"\d+(\.\d+)*")
NAME = re.compile(r"[a-z][a-z0-9-]{0,30}")


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"{text!r} is not a regular expression: {error}") from error
    return text


def _version(text: str) -> str:
    if not VERSION.fullmatch(text):
        raise ValueError(f"{text!r} is not a version: write numbers with dots in quotes, such as '24.16'")
    return text


def _name(text: str) -> str:
    if not NAME.fullmatch(text):
        raise ValueError(f"{text!r} is not a name: write small letters, digits and hyphens")
    return text


Paths = TypeVar("Paths", bound=Iterable[str])


def _inside(files: Paths) -> Paths:
    for name in files:
        path = PurePosixPath(name)
        if not name or path.is_absolute() or ".." in path.parts or "\\" in name or path == PurePosixPath():
            raise ValueError(f"{name!r} is not a path inside the gateway's folder: write it as `state/config.json`")
    return files


Pattern = Annotated[str, AfterValidator(_pattern)]
VersionText = Annotated[str, AfterValidator(_version)]


class ProfileFile(Model):
    """A file for the gateway's folder, written before the first start."""

    format: Literal["json", "yaml", "text"] = "text"
    """How `content` is written."""
    content: Any = ""
    """A text, or for JSON and YAML a tree. With slots; a text of a tree that is only `${port}` becomes a number."""


class Need(Model):
    """A program needed on this machine."""

    program: str = Field(min_length=1)
    """Its path, or its name on `PATH`. With the slots `install` and `python`."""
    version: tuple[str, ...] = ("--version",)
    """The arguments with which it prints its version."""
    at_least: VersionText | None = None
    """The first version that will do, e.g. `'24.16'`."""
    below: VersionText | None = None
    """The first version that will not do any more."""
    get: str = ""
    """How to get it, for readers."""


class Install(Model):
    """Where the gateway is installed, and how it comes there."""

    folder: str = ""
    """A folder below `.gateways`; by default the name of the profile."""
    task: str = ""
    """The command that installs it, e.g. `make attach-hermes`."""
    brings: str = ""
    """What that downloads, for readers."""


class ReadyWhen(Model):
    """When the gateway is ready. It always has to be connected to every account: first poll, or identified."""

    log: Pattern = ""
    """A line of its log must also match this regular expression, after its start."""
    after: Duration = 0.0
    """Wait for so long after that."""
    never: Pattern = ""
    """A line of its log that matches this regular expression says that it will never be ready: nobody waits for it."""


class Obeyed(Model):
    """A part of a prompt by which the model is to leave what was said before it."""

    part: Pattern
    """The part, as a regular expression. What was said up to its end is not answered."""
    say: str = ""
    """What an obedient model says if nothing is asked after this part."""


class SettingsReason(Model):
    """The reason for the settings of a gateway."""

    why: str = Field(min_length=1)
    """The use that it is set up for, and why so: a sentence of a finding's page."""
    docs: str = ""
    """Where its own documentation says so."""

    def __str__(self) -> str:
        return f"{self.why} ({self.docs})" if self.docs else self.why


class Variant(Model):
    """A further use of a gateway, with other settings: `--gateway NAME@VARIANT`."""

    settings: SettingsReason
    """Why it is set up so."""
    environment: dict[str, str] = Field(default_factory=dict)
    """Further environment variables. With slots."""
    files: Annotated[dict[str, Any], AfterValidator(_inside)] = Field(default_factory=dict)
    """By file: a tree that is merged into its content, or text that is appended. With slots."""
    abilities: tuple[str, ...] = ()
    """What a scenario may need in addition, on each platform: `many-people`."""


class PlatformProfile(Model):
    """The part of a profile for one platform, in addition to the rest."""

    environment: dict[str, str] = Field(default_factory=dict)
    """Further environment variables. With slots."""
    files: Annotated[dict[str, Any], AfterValidator(_inside)] = Field(default_factory=dict)
    """By file: a tree that is merged into its content, or text that is appended. With slots."""
    abilities: tuple[str, ...] = ()
    """What a scenario may need: `threads`, `many-people` (it keeps people apart who write to it in private), and what
    scenarios of your own name in `attach.needs`."""
    needs: tuple[Need, ...] = ()
    """Further programs, files or folders that must be there."""


class GatewayProfile(Model):
    """How to run a gateway that is not ours."""

    profile: Literal[1]
    """Version of the file format."""
    name: Annotated[str, AfterValidator(_name)]
    """A word, for the command line."""
    title: str = ""
    """Its name for readers."""
    settings: SettingsReason | None = None
    """Why it is set up as it is, by its own documentation: on the page of each finding."""
    variants: dict[str, Variant] = Field(default_factory=dict)
    """Further uses, each with settings of its own; `--gateway NAME@VARIANT` is one."""
    versions: tuple[str, ...] = ()
    """Versions with which this profile was tried."""
    version: tuple[str, ...] = ()
    """A command that prints the installed version. With the slots `install` and `python`."""
    install: Install = Install()
    """Where the gateway is installed, and how it comes there."""
    needs: tuple[Need, ...] = ()
    """Programs that must be on this machine."""
    prepare: tuple[tuple[str, ...], ...] = ()
    """Commands that are run in its folder before its first start, after its files were written. With slots."""
    warm_up: Flag = False
    """Its first start takes long: it is started and spoken to once, and each try gets a copy of the state it left."""
    conversation_files: Annotated[tuple[str, ...], AfterValidator(_inside)] = ()
    """Where it keeps conversations, in its folder; `*` stands for any part of a name. They are left out of that state:
    a try must not take up a conversation with somebody who is not in its world."""
    command: tuple[str, ...] = Field(min_length=1)
    """The command that starts the gateway. With slots."""
    environment: dict[str, str] = Field(default_factory=dict)
    """Environment variables. The process gets these, `PATH`, and no other. With slots."""
    files: Annotated[dict[str, ProfileFile], AfterValidator(_inside)] = Field(default_factory=dict)
    """Files in its folder, by path."""
    platforms: dict[str, PlatformProfile] = Field(min_length=1)
    """The platforms that it can be attached by."""
    ready: ReadyWhen = ReadyWhen()
    """When it is ready."""
    start_within: Duration = 60.0
    """How long it may take until it is ready."""
    stop_within: Duration = 30.0
    """How long it may take to end after SIGTERM."""
    settle: Duration = 15.0
    """A run has ended when everything was answered, and then nothing happened for so long."""
    settle_after_restart: Duration | None = None
    """The same, in a run in which it was started again: what it takes up again comes late. By default `settle`."""
    patience: Duration = 45.0
    """A question that nothing followed within this time counts as lost."""
    notices: tuple[str, ...] = ()
    """Texts by which a person learns what became of a question, and that answer nothing. `*` stands for anything."""
    remarks: tuple[str, ...] = ()
    """Texts that it says of itself, and of no question, such as a hint at a first message. `*` stands for anything."""
    ignore: tuple[Pattern, ...] = ()
    r"""Parts of prompts that the gateway adds, as regular expressions; the scripted model does not answer them. `.` is
    any character, a line end too, and `\x00` is between two messages."""
    obey: tuple[Obeyed, ...] = ()
    """Parts of prompts by which the model is to leave what was said before them."""
    tools: Flag = True
    """Its turns offer tools to the model, so that a request without any is none: it asks for a title, for example."""
