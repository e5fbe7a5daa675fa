"""Shared by operators' commands: which gateway, how an answer is printed, and the exit code of a refusal."""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, ParamSpec

from cyclopts import App, Group, Parameter

from trunkline.app.cli.options import Flag
from trunkline.app.terminal.output import print_error, print_json, print_lines
from trunkline.core.errors import UsageError
from trunkline.core.store.postgres.address import is_address

# What is imported in functions is half of the time that `--help` takes.
if TYPE_CHECKING:
    from trunkline.app.operators.port import Operator

P = ParamSpec("P")
OUTPUT = Group("Output", sort_key=2)
#: ids may begin with a dash
Id = Annotated[str, Parameter(allow_leading_hyphen=True)]
Json = Annotated[Flag, Parameter(group=OUTPUT, help="Print JSON.")]


@dataclass(frozen=True, kw_only=True)
class GatewayOptions:
    """Which gateway."""

    store: str | None = None
    """The store file of a gateway, which may be running or not; or `postgresql://USER@HOST/DATABASE?schema=NAME`, with
    the password in `PGPASSWORD` or `~/.pgpass`. By default the store of the only gateway that you have served here."""
    url: str | None = None
    """Instead of a store file: the address of a gateway that is running, e.g. `http://127.0.0.1:8420`."""
    token_file: Path | None = None
    """With `--url`: the file that holds its token. By default the variable `TRUNKLINE_TOKEN`, else the file that
    `trunkline serve` made."""

    def operator(self) -> "Operator":
        """The gateway that is named, else that of this user. Raises `UsageError` for several, and for none."""
        if self.url is None:
            if self.token_file is not None:
                raise UsageError("--token-file goes with --url")
            store = _only_store() if self.store is None else self.store
            from trunkline.app.operators.store_file import StoreFileOperator

            return StoreFileOperator(store if is_address(store) else Path(store))
        if self.store is not None:
            raise UsageError("say which gateway: --store FILE, or --url URL of one that is running")
        from trunkline.app.operators.http_client import HttpClient

        return HttpClient(self.url, self.token_file)


def _only_store() -> str:
    """The store of the only gateway that this user has served on this machine."""
    from trunkline.app.serve.state import served_stores, state_folder

    found = served_stores(state_folder(os.environ))
    if len(found) != 1:
        known = "".join(f"\n  --store {quote(name)}" for name in found)
        raise UsageError(f"say which gateway: --store FILE, or --url URL of one that is running{known}")
    print_error(f"trunkline: the gateway of {found[0]}")
    return found[0]


def operators_app(name: str, summary: str) -> App:
    """A group of operators' commands."""
    codes = "Exit code: 0 done, 1 not possible and nothing was changed, 2 wrong usage or file."
    return App(name=name, help=f"{summary}\n\n{codes}")


Gateway = Annotated[GatewayOptions, Parameter(name="*", group=Group("Gateway", sort_key=0))]
NOWHERE = GatewayOptions()


def print_answer(command: str, document: Mapping[str, Any], lines: Iterable[str], *, json: bool) -> int:
    """Print an answer for machines or for people; the exit code."""
    if json:
        from trunkline.app.report.layout import as_json

        print_json(as_json(command, document))
    else:
        print_lines(*lines)
    return 0


def or_exit(command: Callable[P, int]) -> Callable[P, int]:
    """Report `NotPossible`, with exit code 1."""

    @wraps(command)
    def run(*args: P.args, **named: P.kwargs) -> int:
        from trunkline.app.operators.port import NotPossible

        try:
            return command(*args, **named)
        except NotPossible as error:
            print_error(f"trunkline: {error}; nothing was changed")
            return 1

    return run
