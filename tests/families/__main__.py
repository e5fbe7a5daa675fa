"""Write the scenarios that are made from tables: ``python -m tests.families``."""

import sys
from concurrent.futures import ProcessPoolExecutor

from tests.families import FILES
from tests.families.family import FOLDER
from tests.families.recorded import recorded, without_recorded
from tests.support.paths import SCENARIOS


def main() -> None:
    """Write every file whose text has changed, with what its runs show, and remove those that no table has any more.

    With `--record` what runs show is recorded again for all files: after a change of behaviour, to read the difference.
    """
    folder = SCENARIOS / FOLDER
    folder.mkdir(exist_ok=True)
    written = {path.name: path.read_text("utf-8") for path in folder.glob("*.yaml")}
    for name in written.keys() - FILES.keys():
        (folder / name).unlink()
    every = "--record" in sys.argv[1:]
    stale = [name for name, text in FILES.items() if every or without_recorded(written.get(name, "")) != text]
    with ProcessPoolExecutor() as pool:
        for name, more in zip(stale, pool.map(recorded, [FILES[name] for name in stale], stale), strict=True):
            (folder / name).write_text(FILES[name] + more, "utf-8")


if __name__ == "__main__":
    main()
