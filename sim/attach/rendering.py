"""The folder of a gateway: its files and environment, with addresses and tokens filled in."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import msgspec

from trunkline.core.errors import UsageError
from trunkline.sim.attach.profile import GatewayProfile, ProfileFile
from trunkline.sim.attach.slots import SLOT


class RenderedGateway(msgspec.Struct, frozen=True, kw_only=True):
    """A profile with its slots filled: all that is needed to start a gateway."""

    command: tuple[str, ...]
    environment: dict[str, str]
    #: path below the folder -> text
    files: dict[str, str]
    #: commands that are run in the folder before the first start
    prepare: tuple[tuple[str, ...], ...] = ()


def render(
    profile: GatewayProfile, platforms: tuple[str, ...], values: Mapping[str, str], path: str = ""
) -> RenderedGateway:
    """Fill a profile in. `values`: by slot, ``telegram.url``. `path`: where programs are looked for, unless it says so.

    Raises `UsageError` for a slot that nothing fills.
    """
    environment = dict(profile.environment)
    trees = {name: file.content for name, file in profile.files.items()}
    for platform in platforms:
        own = profile.platforms[platform]
        environment |= own.environment
        for name, part in own.files.items():
            trees[name] = merged(trees.get(name, ""), part)
    files = {name: _written(profile.files.get(name), filled(tree, values)) for name, tree in trees.items()}
    return RenderedGateway(
        command=_command(profile.command, values),
        prepare=tuple(_command(command, values) for command in profile.prepare),
        environment=({"PATH": path} if path else {})
        | {name: str(value) for name, value in filled(environment, values).items()},
        files=files,
    )


def _command(words: tuple[str, ...], values: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(str(word) for word in filled(list(words), values))


def merged(tree: Any, part: Any) -> Any:
    """Two trees in one: mappings are joined, lists and texts appended, anything else is replaced."""
    if isinstance(tree, dict) and isinstance(part, dict):
        both = dict(cast("dict[str, Any]", tree))
        for key, value in cast("dict[str, Any]", part).items():
            both[key] = merged(both[key], value) if key in both else value
        return both
    if isinstance(tree, list) and isinstance(part, list):
        return [*cast("list[Any]", tree), *cast("list[Any]", part)]
    return tree + part if isinstance(tree, str) and isinstance(part, str) else part


def filled(tree: Any, values: Mapping[str, str]) -> Any:
    """A tree with its slots filled in. A text that is nothing but ``${port}`` becomes a number. Raises `UsageError`."""
    if isinstance(tree, dict):
        return {key: filled(value, values) for key, value in cast("dict[str, Any]", tree).items()}
    if isinstance(tree, list):
        return [filled(item, values) for item in cast("list[Any]", tree)]
    if not isinstance(tree, str):
        return tree
    if tree == "${port}":
        return int(values["port"])

    def value(found: re.Match[str]) -> str:
        if found[1] not in values:
            raise UsageError(f"the profile has ${{{found[1]}}}, which is unknown; there are: {', '.join(values)}")
        return values[found[1]]

    return SLOT.sub(value, tree).replace("$${", "${")


def _written(file: ProfileFile | None, tree: Any) -> str:
    if file is None or file.format == "text":
        return str(tree)
    if file.format == "json":
        return json.dumps(tree, indent=1) + "\n"
    import yaml

    return yaml.safe_dump(tree, sort_keys=False)


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write the files of a gateway into its folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
