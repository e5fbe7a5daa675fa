"""An example of each command, for the end of its ``--help``."""

from collections.abc import Sequence
from pathlib import Path

#: a line each
_EXAMPLES = Path(__file__).with_name("examples.txt")


def examples_of(words: Sequence[str]) -> str:
    """The examples of the named command and of its subcommands; for none the first of all."""
    command = ["trunkline"]
    lines = _EXAMPLES.read_text(encoding="utf-8").splitlines()
    found = lines[:1]
    for word in words:
        of_word = [line for line in lines if line.split()[: len(command) + 1] == [*command, word]]
        if of_word:
            command, found = [*command, word], of_word
    return "\n".join(["Examples:" if len(found) > 1 else "Example:", *(f"  {line}" for line in found)])
