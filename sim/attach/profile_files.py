"""Reads gateway profiles: those that ship, and one's own by its path. Every problem has its line, column and remedy."""

import os
from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import Any, cast

from pydantic import ValidationError

from trunkline.core.config.files.faults import FileKind, explain_fault
from trunkline.core.config.files.problems import FileError, Path, ProblemReport, advice
from trunkline.core.config.files.yaml_reader import parse, read_text
from trunkline.core.errors import UnknownName
from trunkline.sim.attach.profile import GatewayProfile, ProfileFile
from trunkline.sim.attach.rendering import OF_INSTALL, OF_PLATFORM, known_slots, merged, slots_in
from trunkline.sim.wire.json_values import mapping

SHIPPED = FilePath(__file__).parent / "profiles"
#: what profiles are to messages
KIND = FileKind(model=GatewayProfile, name="a profile")
_BEGIN = "a profile begins with `profile: 1`"
#: of a profile and of its platforms: the fields whose texts may have slots
_WITH_SLOTS = ("prepare", "command", "environment", "files")


class ProfileError(FileError):
    """A gateway profile is invalid. `problems` lists everything that is wrong with it, sorted by position."""


class _Report(ProblemReport):
    error_type = ProfileError


def shipped_profiles() -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in SHIPPED.glob("*.yaml")))


def profile_path(given: str) -> FilePath:
    """The file of a profile: that of a name, or a path, with ``.yaml`` or a slash. Raises `UnknownName`.

    ``NAME@VARIANT`` is a variant of it: the path that is returned ends in that too, and `load_profile` reads it.
    """
    whole, at, variant = given.partition("@")
    if at and "/" not in variant:
        return FilePath(f"{profile_path(whole)}@{variant}")
    if given.endswith((".yaml", ".yml")) or "/" in given or os.sep in given:
        return FilePath(given)
    known = shipped_profiles()
    if given not in known:
        hint = advice(given, known) or f"there are: {', '.join(known)}"
        raise UnknownName(f"gateway profile {given!r} ({hint}; a file of your own is named by its path, ./mine.yaml)")
    return SHIPPED / f"{given}.yaml"


def load_profile(path: str | os.PathLike[str]) -> GatewayProfile:
    """Read a profile. Raises `ProfileError` with every problem."""
    name, at, variant = os.fspath(path).rpartition("@")
    if not at or not name.endswith((".yaml", ".yml")):
        name, variant = os.fspath(path), ""
    profile = load_profile_text(read_text(_Report(name), "a gateway profile"), name)
    return in_variant(profile, variant) if variant else profile


def in_variant(profile: GatewayProfile, name: str) -> GatewayProfile:
    """A profile as a variant. Raises `UnknownName`."""
    variant = profile.variants.get(name)
    if variant is None:
        hint = advice(name, profile.variants) or f"there are: {', '.join(profile.variants) or 'none'}"
        raise UnknownName(f"the profile {profile.name} has no variant {name!r} ({hint})")
    files = dict(profile.files)
    for file, part in variant.files.items():
        whole = files.get(file, ProfileFile())
        files[file] = whole.model_copy(update={"content": merged(whole.content, part)})
    platforms = {
        platform: own.model_copy(update={"abilities": (*own.abilities, *variant.abilities)})
        for platform, own in profile.platforms.items()
    }
    install = profile.install.model_copy(update={"folder": profile.install.folder or profile.name})
    return profile.model_copy(
        update={
            "name": f"{profile.name}-{name}",
            "title": f"{profile.title or profile.name} ({name})",
            "settings": variant.settings,
            "environment": profile.environment | variant.environment,
            "files": files,
            "platforms": platforms,
            "install": install,
            "variants": {},
        }
    )


def load_profile_text(text: str, path: str | os.PathLike[str] = "profile.yaml") -> GatewayProfile:
    """`load_profile` for a text; errors name `path`. Raises `ProfileError`."""
    report = _Report(os.fspath(path))
    tree = parse(text, report, begin=_BEGIN)
    profile = None
    try:
        profile = GatewayProfile.model_validate(tree)
    except ValidationError as error:
        for fault in error.errors(include_url=False, include_input=False):
            explain_fault(cast("Mapping[str, Any]", fault), tree, report, KIND)
    if isinstance(tree, dict):
        _check_platforms(cast("dict[str, Any]", tree), report)
        _check_slots(cast("dict[str, Any]", tree), report)
    if profile is not None:
        _check_files(profile, report)
        _check_needs(profile, report)
    if profile is None or report.problems:
        raise report.error()
    return profile


def _check_platforms(tree: dict[str, Any], report: ProblemReport) -> None:
    for name in mapping(tree.get("platforms")):
        if name not in OF_PLATFORM:
            hint = advice(name, OF_PLATFORM)
            report.add(("platforms", name), f"unknown platform {name!r}", hint, at_key=True)


def _check_slots(tree: dict[str, Any], report: ProblemReport) -> None:
    everywhere = known_slots()
    for field in _WITH_SLOTS:
        _check_texts(tree.get(field), (field,), everywhere, report)
    _check_texts(tree.get("version"), ("version",), OF_INSTALL, report)
    _check_texts(tree.get("needs"), ("needs",), OF_INSTALL, report)
    for platform, given in mapping(tree.get("platforms")).items():
        own, at = mapping(given), ("platforms", platform)
        if platform in OF_PLATFORM:
            for field in _WITH_SLOTS:
                _check_texts(own.get(field), (*at, field), known_slots(platform), report)
        _check_texts(own.get("needs"), (*at, "needs"), OF_INSTALL, report)


def _check_texts(tree: object, at: Path, known: tuple[str, ...], report: ProblemReport) -> None:
    for path, slot in slots_in(tree, at):
        if slot in known:
            continue
        platform = slot.partition(".")[0]
        if slot in known_slots(platform):
            hint = f"it is known only below `platforms.{platform}`" if platform in OF_PLATFORM else "not in this field"
        else:
            hint = advice(slot, known)
        report.add(path, f"nothing fills the slot ${{{slot}}}", f"{hint}; a text that has ${{ itself is written $${{")


def _check_files(profile: GatewayProfile, report: ProblemReport) -> None:
    """A platform adds trees to files that are trees, and text to files that are text."""
    for name, file in profile.files.items():
        if file.format == "text" and not isinstance(file.content, str):
            report.add(("files", name, "content"), "expected a text", "a tree needs `format: json` or `format: yaml`")
    for platform, own in profile.platforms.items():
        for name, part in own.files.items():
            at = ("platforms", platform, "files", name)
            whole = profile.files.get(name)
            if whole is None and not isinstance(part, str):
                report.add(
                    at, f"expected a text: the profile has no file {name!r}", "list it under `files`, with its format"
                )
            elif whole is not None and isinstance(whole.content, dict) != isinstance(part, dict):
                expected = "a mapping" if isinstance(whole.content, dict) else "a text"
                report.add(at, f"expected {expected}, as in `files`")


def _check_needs(profile: GatewayProfile, report: ProblemReport) -> None:
    for index, need in enumerate(profile.needs):
        if (need.at_least or need.below) and not need.version:
            report.add(("needs", index, "version"), "without arguments its version is not known")
