"""Secrets that a configuration names without containing them."""

from collections.abc import Mapping
from pathlib import Path

from pydantic import Field, model_validator

from trunkline.core.config.base import Model
from trunkline.core.errors import ConfigError

#: bytes; a longer file is no secret
_LONGEST = 65_536


class Secret(Model):
    """Where a secret is: in an environment variable, or in a file. The configuration never has the secret itself."""

    env: str | None = Field(default=None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    """Name of an environment variable."""
    file: str | None = None
    """Path of a file, relative to the configuration file; spaces and line ends around its text are ignored."""

    @model_validator(mode="after")
    def _one_of_both(self) -> "Secret":
        if (self.env is None) == (self.file is None):
            raise ValueError("a secret has either `env`, the name of a variable, or `file`, the path of a file")
        return self

    def read(self, folder: Path, environ: Mapping[str, str]) -> str:
        """The secret. Raises `ConfigError`, which names the place and never the value."""
        if self.env is not None:
            found, where = environ.get(self.env, ""), f"the environment variable {self.env}"
        else:
            where = f"the file {folder / (self.file or '')}"
            try:
                found = _text(folder / (self.file or ""))
            except (OSError, ValueError) as error:
                raise ConfigError(f"{where} has no secret: {error}") from error
        if not found.strip():
            raise ConfigError(f"{where} is empty or not set: put the secret there")
        return found.strip()


def _text(path: Path) -> str:
    with path.open("rb") as file:
        found = file.read(_LONGEST + 1)
    if len(found) > _LONGEST:
        raise ValueError("it is too long for a secret")
    try:
        return found.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8") from None
