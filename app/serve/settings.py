"""The start of a server: the configuration file, and what the command line says instead."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import msgspec
from pydantic import ValidationError

from trunkline.app.serve.config import RecordConfig, ServeConfig
from trunkline.app.serve.state import STORE, TOKEN, state_folder
from trunkline.core.config.files.faults import FileKind, explain_placed_fault
from trunkline.core.config.files.problems import ProblemReport, shown
from trunkline.core.config.files.yaml_reader import parse, read_text
from trunkline.core.config.secrets import Secret
from trunkline.core.errors import ConfigError
from trunkline.core.store.postgres.address import is_address, server_address

KIND = FileKind(model=ServeConfig, name="the configuration")
_BEGIN = "a configuration begins with one of its fields, such as `agents:`"


class Overrides(msgspec.Struct, frozen=True, kw_only=True):
    """Options of the command line that replace fields of the file."""

    listen: str | None = None
    port: int | None = None
    token_file: Path | None = None
    record: Path | None = None
    log_level: str | None = None
    log_format: str | None = None


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """A valid configuration, with the folders that its paths are relative to."""

    config: ServeConfig
    #: the file; none: the defaults
    path: Path | None
    #: folder of the store and of the token, if the configuration does not name them
    state: Path
    overrides: Overrides = Overrides()
    environ: Mapping[str, str] = msgspec.field(default_factory=lambda: os.environ)

    def __repr__(self) -> str:
        # The environment has secrets.
        return f"Settings({str(self.path)!r}, state={str(self.state)!r})"

    @property
    def folder(self) -> Path:
        """The folder that the paths of the configuration are relative to."""
        return self.state if self.path is None else self.path.absolute().parent

    @property
    def store(self) -> Path:
        """The store file, unless there is a `server`."""
        given = self.config.store
        return self.folder / given if isinstance(given, str) else self.state / STORE

    @property
    def server(self) -> str | None:
        """The address of the store on a server, which may hold a password; none: it is a file. Raises `ConfigError`."""
        given = self.config.store
        if isinstance(given, Secret):
            return given.read(self.folder, self.environ)
        if given is None or not is_address(given):
            return None
        if server_address(given).has_password:
            raise ConfigError("`store` has a password: move the address to where `store: {env: NAME}` names it")
        return given

    @property
    def store_name(self) -> str:
        """The store for people, without what is secret."""
        return str(self.store) if self.server is None else server_address(self.server).shown

    @property
    def token_file(self) -> Path | None:
        """The file of the token with every scope; none if the configuration has other tokens and no file."""
        http = self.config.http
        if self.overrides.token_file is not None:
            return self.overrides.token_file
        if http.token_file is not None:
            return self.folder / http.token_file
        return None if http.tokens else self.state / TOKEN

    @property
    def log_level(self) -> str:
        """The least important lines of the log that are written."""
        return self.overrides.log_level or self.config.log.level

    @property
    def log_format(self) -> str:
        """``text`` or ``json``."""
        return self.overrides.log_format or self.config.log.format

    @property
    def record(self) -> RecordConfig | None:
        """The configuration of the recording, with the path of its folder; None if nothing is recorded."""
        found = self.config.record
        if self.overrides.record is not None:
            folder = self.overrides.record
            return (
                RecordConfig(folder=str(folder)) if found is None else found.model_copy(update={"folder": str(folder)})
            )
        return None if found is None else found.model_copy(update={"folder": str(self.folder / found.folder)})

    @property
    def token_named(self) -> bool:
        """Whether somebody has said which token lets clients in, and not just left the default."""
        http = self.config.http
        return self.overrides.token_file is not None or http.token_file is not None or bool(http.tokens)


def load_settings(
    path: Path | None,
    *,
    state: Path | None = None,
    overrides: Overrides | None = None,
    environ: Mapping[str, str] | None = None,
) -> Settings:
    """Read the configuration file, or take the defaults. Raises `FileError` with every problem."""
    environ = os.environ if environ is None else environ
    return Settings(
        config=ServeConfig() if path is None else load_file(path),
        path=path,
        state=state_folder(environ) if state is None else state,
        overrides=overrides or Overrides(),
        environ=environ,
    )


def load_file(path: Path) -> ServeConfig:
    """Read a configuration file. Raises `FileError` with every problem, each with line and column."""
    report = ProblemReport(os.fspath(path))
    text = read_text(report, "a configuration file")
    # JSON may be indented with tabs, YAML may not; JSON strings cannot contain a raw tab.
    return read_config(text.replace("\t", " ") if path.name.endswith(".json") else text, report)


def read_config(text: str, report: ProblemReport) -> ServeConfig:
    """Read the text of a configuration file. Raises `FileError` with every problem."""
    tree = parse(text, report, begin=_BEGIN)
    if not isinstance(tree, dict):
        report.add((), f"expected a mapping, found {shown(tree)}", _BEGIN)
        raise report.error()
    config = _validated(cast("dict[str, Any]", tree), report)
    if config is None or report.problems:
        raise report.error()
    return config


def _validated(tree: dict[str, Any], report: ProblemReport) -> ServeConfig | None:
    try:
        return ServeConfig.model_validate(tree)
    except ValidationError as error:
        for fault in cast("list[dict[str, Any]]", error.errors(include_url=False, include_input=False)):
            explain_placed_fault(fault, tree, report, KIND)
        return None
