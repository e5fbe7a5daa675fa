"""``trunkline completion``: what a shell completes after the word ``trunkline``."""

from typing import Literal

from trunkline.app.cli.options import Flag
from trunkline.app.terminal.output import print_lines
from trunkline.core.errors import UsageError


def print_completion(shell: Literal["bash", "zsh", "fish"], /, *, install: Flag = False) -> int:
    """Print or install the script by which a shell completes commands.

    :param shell: The shell.
    :param install: Write the script where the shell looks for it, instead of printing it; for bash and zsh also the
        line in `~/.bashrc` or `~/.zshrc` that loads it.
    """
    from trunkline.app.cli.commands import app

    if not install:
        print(app.generate_completion(shell=shell), end="")
        return 0
    try:
        path = app.install_completion(shell=shell)
    except OSError as error:
        why = f"{error.filename or 'the script'} cannot be written: {error.strerror or error}"
        raise UsageError(
            f"{why}. Print it, and keep it where {shell} finds it: trunkline completion {shell}"
        ) from error
    print_lines(f"{path} is written. A new {shell} completes `trunkline`.")
    return 0
