"""The configuration of a program as an agent."""

import re

from pydantic import Field, field_validator

from trunkline.core.agents.turn_limits import TurnLimits
from trunkline.core.config.base import Duration, Flag
from trunkline.core.config.secrets import Secret

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class ProgramConfig(TurnLimits):
    """A program which reads turns from standard input and writes answers to standard output, as JSON lines."""

    command: tuple[str, ...] = Field(min_length=1, max_length=1000)
    """The program and its arguments; no shell reads them. A name without a slash is looked up in `PATH`, one with a
    slash is relative to `folder`."""
    folder: str = "."
    """Its working directory, relative to the configuration file."""
    env: dict[str, str | Secret] = Field(default_factory=dict)
    """Its environment variables: texts, or secrets. Beside them it has only `PATH`, `HOME`, `LANG`, `LC_ALL`, `TZ` and
    `TMPDIR` of the gateway."""
    per_turn: Flag = False
    """Start a process for each turn, instead of a single process for all."""
    concurrency: int = Field(default=100, ge=1, le=1000)
    """How many turns it is given at the same time; others wait."""
    repeatable: Flag = False
    """Run a turn a second time when the program ends in the middle of it. What it has called is not done again."""
    start_timeout: Duration = Field(default=10.0, gt=0, le=3600)
    """How long the program may take to say hello."""
    stop_timeout: Duration = Field(default=5.0, ge=0, le=3600)
    """How long it may take to end after its input is closed; then it gets SIGTERM, and as long again later SIGKILL."""
    stuck_timeout: Duration = Field(default=60.0, gt=0, le=86_400)
    """A program that does not read what it is sent for so long is ended."""
    max_line: int = Field(default=1_000_000, ge=1000, le=100_000_000)
    """Bytes that a line of its output may have."""
    max_output: int = Field(default=8_000_000, ge=1000, le=1_000_000_000)
    """Bytes that it may write for one turn."""

    @field_validator("command")
    @classmethod
    def _is_executable_text(cls, command: tuple[str, ...]) -> tuple[str, ...]:
        if not command[0].strip():
            raise ValueError("the first word of a command is the program; it is empty")
        if any("\0" in word for word in command):
            raise ValueError("a word of a command cannot contain a null character")
        return command

    @field_validator("env")
    @classmethod
    def _are_variables(cls, env: dict[str, str | Secret]) -> dict[str, str | Secret]:
        for name, value in env.items():
            if not _VARIABLE.fullmatch(name):
                raise ValueError(f"{name!r} is no name of an environment variable: letters, digits and _ only")
            if isinstance(value, str) and "\0" in value:
                raise ValueError(f"the value of {name} contains a null character")
        return env
