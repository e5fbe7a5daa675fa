"""``trunkline serve``: runs a gateway that speaks HTTP."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from trunkline.app.cli.options import Flag
from trunkline.app.gc_policy import loading
from trunkline.core.errors import UsageError


@dataclass(frozen=True, kw_only=True)
class ServeOptions:
    """How the server runs."""

    config: Path | None = None
    """The configuration file. Without one, a web chat on this machine talks to an agent that echoes."""
    listen: str | None = None
    """Address and port, e.g. `127.0.0.1:8420`; instead of `http.listen` of the configuration."""
    port: int | None = None
    """The port alone; 0 takes a free one."""
    state: Path | None = None
    """Folder of the store and the token, if the configuration does not name them. By default `trunkline` in
    `$XDG_STATE_HOME` or `~/.local/state`."""
    token_file: Path | None = None
    """File of the token, which is made if it is missing; instead of `http.token_file` of the configuration."""
    record: Path | None = None
    """Folder for trace files of what the gateway does."""
    log_level: Literal["debug", "info", "warning", "error"] | None = None
    """Instead of `log.level` of the configuration."""
    log_format: Literal["text", "json"] | None = None
    """Instead of `log.format` of the configuration."""
    check: Flag = False
    """Check the configuration, the secrets that it names and the store, and serve nothing. Writes nothing, and opens no
    connection."""


def serve(options: Annotated[ServeOptions, Parameter(name="*")] = ServeOptions()) -> int:
    """Run a gateway that speaks HTTP, with a web chat. Prints its address and the file of its token; Ctrl-C ends it.

    SIGTERM and Ctrl-C finish what is in progress, a second one ends it at once; SIGHUP reads the configuration again.
    """
    with loading():
        from trunkline.app.serve.process import run_server
        from trunkline.app.serve.settings import Overrides, load_settings
        from trunkline.core.declared import filled

    overrides = filled(Overrides, options)
    settings = load_settings(options.config, state=options.state, overrides=overrides)
    if not options.check:
        return run_server(settings)
    from trunkline.app.serve.reload import warn_of_channels
    from trunkline.app.serve.server import problems_of
    from trunkline.app.terminal.output import print_lines

    if problems := problems_of(settings):
        raise UsageError("\n".join(problems))
    warn_of_channels(settings.config)
    accounts = ", ".join(f"{account.on}:{account.account}" for account in settings.config.accounts)
    where = settings.path or "the defaults"
    print_lines(f"{where}: ready to serve. Accounts: {accounts}. Store: {settings.store_name}")
    return 0
