"""Write the scenarios that are made from tables: ``python -m tests.families``."""

from tests.families import FILES
from tests.families.family import FOLDER
from tests.support.paths import SCENARIOS


def main() -> None:
    """Write every file whose text has changed, and remove those that no table has any more."""
    folder = SCENARIOS / FOLDER
    folder.mkdir(exist_ok=True)
    for path in folder.glob("*.yaml"):
        if path.name not in FILES:
            path.unlink()
    for name, text in FILES.items():
        path = folder / name
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
