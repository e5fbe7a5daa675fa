"""``trunkline doctor``: says what a gateway lacks on this machine, and what to do about it."""

import logging
from pathlib import Path

from trunkline.app.cli.store.files import Json, print_answer
from trunkline.app.text.cells import aligned, clean, count
from trunkline.core.errors import UsageError


def examine(*, config: Path | None = None, state: Path | None = None, json: Json = False) -> int:
    """Check a gateway before it serves: what it lacks, and the remedy.

    That is installation, configuration, secrets, platforms, models, store, machine and clock. Each platform is asked
    whose its token is, each model whether it takes the key. Nothing is written, and no secret is shown. Exit code: 0
    fine, perhaps with warnings; 1 something failed; 2 wrong usage.

    :param config: The configuration file. Without one, what `trunkline serve` has by default is checked.
    :param state: Folder of the store and the token, as for `trunkline serve`.
    """
    if config is not None and not config.is_file():
        raise UsageError(f"{config} is no file: name a configuration, such as one that `trunkline init` has written")
    from trunkline.app.serve.doctor import checkup

    # What a server says in its log, here is in a line.
    logging.disable()
    lines = checkup(config, state)
    failed, warned = ([line for line in lines if line.state == state] for state in ("failed", "warning"))
    rows = list(aligned([(f"{line.state:8}", clean(line.what), clean(line.seen)) for line in lines]))
    texts = list[str]()
    for line, row in zip(lines, rows, strict=True):
        texts += [row, *([f"{'':8}  -> {line.remedy}"] if line.remedy else [])]
    texts.append(f"{count(len(failed), 'check')} failed, {count(len(warned), 'warning')}")
    document = {"config": None if config is None else str(config), "fine": not failed, "checks": lines}
    return print_answer("doctor", document, texts, json=json) or int(bool(failed))
