"""The installed version. Apart from the commands, so that ``--version`` loads nothing else."""

from __future__ import annotations


def installed_version() -> str:
    """The version of the installed distribution, in words where there is none."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("trunkline")
    except PackageNotFoundError:
        return "unknown (not installed)"
