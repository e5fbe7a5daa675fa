"""The profile of a gateway of which only its command is known: addresses and tokens reach it by its environment."""

import re
import shlex
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from trunkline.core.config.files.problems import advice
from trunkline.core.errors import UsageError
from trunkline.sim.attach.profile import MANY_PEOPLE, THREADS, GatewayProfile, PlatformProfile
from trunkline.sim.attach.profile_files import load_profile_text, shipped_profiles
from trunkline.sim.attach.rendering import COMMON, OF_PLATFORM, SLOT, known_slots

#: what the gateway finds in its environment, whatever platforms the scenario has
EVERYWHERE: Mapping[str, str] = {
    "HOME": "${home}",
    "TZ": "UTC",
    "PYTHONUNBUFFERED": "1",
    "OPENAI_BASE_URL": "${model.url}",
    "OPENAI_API_KEY": "x",
    "OPENAI_MODEL": "m1",
}
#: and for each platform: the names that libraries and gateways use
OF_ENVIRONMENT: Mapping[str, Mapping[str, str]] = {
    "telegram": {"TELEGRAM_API_ROOT": "${telegram.url}", "TELEGRAM_BOT_TOKEN": "${telegram.token}"},
    "discord": {
        "DISCORD_API_URL": "${discord.url}/api/v10",
        "DISCORD_GATEWAY_URL": "${discord.gateway}",
        "DISCORD_BOT_TOKEN": "${discord.token}",
        "DISCORD_TOKEN": "${discord.token}",
    },
    "slack": {
        "SLACK_API_URL": "${slack.url}/api/",
        "SLACK_BOT_TOKEN": "${slack.token}",
        "SLACK_APP_TOKEN": "${slack.app_token}",
    },
    "matrix": {
        "MATRIX_HOMESERVER": "${matrix.url}",
        "MATRIX_USER_ID": "${matrix.bot}",
        "MATRIX_ACCESS_TOKEN": "${matrix.token}",
    },
    "signal": {"SIGNAL_HTTP_URL": "${signal.url}", "SIGNAL_ACCOUNT": "${signal.token}"},
}
#: seconds: of a gateway of which nothing is known
_START, _STOP, _SETTLE, _PATIENCE = 60.0, 15.0, 5.0, 45.0
#: how words begin that name a file that comes with Trunkline or is installed
_SHIPPED_FILES = ("${attach}/", "${install}/")
_NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")


def own_profile(command: str, *, name: str = "", notices: Iterable[str] = ()) -> GatewayProfile:
    """A gateway profile from a command line, split as by a shell, but without a shell.

    It is started in a folder of its own: words that name a file of the working directory become absolute. Slots such as
    ``${telegram.url}`` are filled in; those of a platform only if the command has those of a single one, which then is
    the one that it can be attached by. Raises `UsageError`.
    """
    words = _words(command)
    used = _platform_in(words)
    profile = GatewayProfile(
        profile=1,
        name=name or _name_of(words),
        title=name or _name_of(words),
        command=_started(words) if used else words,
        environment=dict(EVERYWHERE),
        platforms=_platforms(words, used),
        start_within=_START,
        stop_within=_STOP,
        settle=_SETTLE,
        patience=_PATIENCE,
        notices=tuple(notices),
        # Nothing is known of its tools; a request for a title is known by its words.
        tools=False,
    )
    # What a file would be refused for is refused here too.
    return load_profile_text(profile_text(profile), "--command")


def profile_text(profile: GatewayProfile) -> str:
    """A profile as a file, which processes that play tries read, and which can be kept and edited."""
    import yaml

    tree = profile.model_dump(mode="json", exclude_defaults=True)
    return yaml.safe_dump({"profile": profile.profile, **tree}, sort_keys=False, allow_unicode=True)


def _words(command: str) -> tuple[str, ...]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"--command {command!r}: {error}") from error
    if not words:
        raise UsageError("--command is empty: it is the command that starts your gateway, `python gateway.py`")
    program = words[0]
    if torn := _torn_path(words):
        raise UsageError(f"--command: the path {torn!r} has a space, and so is several words: put it in quotes")
    if not SLOT.search(program) and shutil.which(program) is None:
        what, remedy = "is not on PATH, and no file here", "name it by its path"
        if Path(program).is_dir():
            what, remedy = "is a folder", "name the program in it"
        elif Path(program).exists():
            what, remedy = "is no program", "chmod +x makes a file one"
        raise UsageError(f"--command: {program!r} {what}: {remedy}")
    # A program of the PATH stays one, also if a folder here has its name.
    first = str(Path(program).absolute()) if "/" in program and not SLOT.search(program) else program
    return (first, *(str(Path(word).absolute()) if Path(word).is_file() else word for word in words[1:]))


def _torn_path(words: Sequence[str]) -> str:
    """A file whose path was split at its spaces: the words are no files, and together they are one. Empty for none."""
    for first, word in enumerate(words):
        for end in range(first + 2, len(words) + 1):
            whole = " ".join(words[first:end])
            if "/" in word and not Path(word).exists() and Path(whole).is_file():
                return whole
    return ""


def _platforms(words: Sequence[str], used: str) -> dict[str, PlatformProfile]:
    if not used:
        return {name: _on_platform(own) for name, own in OF_ENVIRONMENT.items()}
    return {used: _on_platform({**OF_ENVIRONMENT[used], **_variables(words)})}


def _on_platform(environment: Mapping[str, str]) -> PlatformProfile:
    # Nothing is known of it: one that cannot answer in a thread is found to answer in the wrong place.
    return PlatformProfile(environment=dict(environment), abilities=(THREADS, MANY_PEOPLE))


def _variables(words: Iterable[str]) -> dict[str, str]:
    """Words with slots, as variables: the command of a profile has no slots of platforms."""
    return {f"ATTACH_WORD_{number}": word for number, word in enumerate(words) if SLOT.search(word)}


def _started(words: Sequence[str]) -> tuple[str, ...]:
    """The command with these variables in it, which a shell fills in before it becomes the gateway."""
    variables = _variables(words)
    written = [
        f'"${name}"' if (name := f"ATTACH_WORD_{number}") in variables else shlex.quote(word)
        for number, word in enumerate(words)
    ]
    return ("/bin/sh", "-c", " ".join(["exec", *written]))


def _platform_in(words: Iterable[str]) -> str:
    """The platform whose slots the words have; empty for none. Raises `UsageError` for unknown slots, and for two."""
    slots = [slot for word in words for slot in SLOT.findall(word)]
    found = dict.fromkeys(slot.partition(".")[0] for slot in slots if slot not in COMMON)
    for slot in slots:
        known = known_slots(slot.partition(".")[0])
        if slot not in known:
            everything = [*COMMON, *(known for platform in OF_PLATFORM for known in known_slots(platform))]
            hint = advice(slot, everything) or f"there are: {', '.join(dict.fromkeys(everything))}"
            raise UsageError(f"--command: nothing fills ${{{slot}}} ({hint})")
    if len(found) > 1:
        raise UsageError(
            f"--command has slots of {' and '.join(found)}, and a scenario need not have both: "
            "let the gateway read its environment, or write a profile"
        )
    if any(asked not in OF_ENVIRONMENT for asked in found):
        raise UsageError(f"--command: a gateway on {next(iter(found))} needs a profile file")
    return next(iter(found), "")


def _name_of(words: tuple[str, ...]) -> str:
    """A name for tables: that of the last file that the command names, else of its program."""
    files = [word for word in words if word.startswith(_SHIPPED_FILES) or Path(word).is_file()]
    name = _NOT_IN_NAMES.sub("-", Path(files[-1] if files else words[0]).stem.lower()).strip("-")[:25]
    name = name if name[:1].isalpha() else f"own-{name}".strip("-")
    return f"own-{name}" if name in shipped_profiles() else name
