"""The long description of the package: the README, with addresses that lead somewhere where there is no clone."""

import re
import tomllib
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

#: the bracket before the target of an image, or of a link; and a target in the clone, or on the page
_TARGET = re.compile(r"(?P<before>!\[[^\]]*\]|\])\((?![a-z]+:)(?P<target>[^)\s]+)\)")


def absolute(readme: str, repository: str, version: str) -> str:
    """The text with the addresses of the repository, as it is at a version."""
    # Before a release there is no tag.
    revision = "main" if "dev" in version else f"v{version}"

    def address(found: re.Match[str]) -> str:
        before, target = found["before"], found["target"]
        if target.startswith("#"):
            return f"{before}({repository}{target})"
        kind = "raw" if before.startswith("!") else "blob"
        return f"{before}({repository}/{kind}/{revision}/{target})"

    return _TARGET.sub(address, readme)


class LongDescription(MetadataHookInterface):
    """Gives the field `readme`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Write it into the metadata."""
        root = Path(self.root)
        project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
        [version] = re.findall(
            r'^VERSION = "([^"]+)"', (root / "core" / "__init__.py").read_text("utf-8"), re.MULTILINE
        )
        text = absolute((root / "README.md").read_text("utf-8"), project["urls"]["Repository"], version)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
