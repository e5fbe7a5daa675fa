"""Pages that are passed on: takes out of a text what nobody may see (tokens, keys, folders of a person); Markdown."""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from trunkline.app.text.cells import clean, clean_lines

#: stands for a secret
REDACTED = "[redacted]"
#: a variable of the environment with such a name holds a secret
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|COOKIE|AUTH", re.IGNORECASE)
#: a shorter value is a word that occurs by chance
_SHORTEST = 8
#: what tokens and keys look like
_SHAPES = re.compile(
    "|".join(
        (
            r"(?<!\d)\d{6,12}:[A-Za-z0-9_-]{20,}",  # a bot of Telegram
            r"\b[A-Za-z0-9_-]{23,28}\.[A-Za-z0-9_-]{6,7}\.[A-Za-z0-9_-]{27,}",  # a bot of Discord
            r"\bxox[a-z]-[A-Za-z0-9-]{8,}|\bxapp-[A-Za-z0-9-]{8,}",  # Slack
            r"\bsyt_[A-Za-z0-9_=-]{8,}",  # Matrix
            r"\b(?:sk|rk|pk)-[A-Za-z0-9_-]{12,}",  # models
            r"\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}",
            r"\bAKIA[0-9A-Z]{16}\b|\bAIza[A-Za-z0-9_-]{20,}",
            r"\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*",  # a JSON web token
            r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)",
        )
    ),
    re.DOTALL,
)
#: ``token=...``, ``"api_key": "..."``, ``Authorization: Bearer ...``
_NAMED = re.compile(
    r"(?P<name>\b(?:[A-Za-z0-9_-]*(?:api[_-]?key|token|secret|password|passwd|authorization)[A-Za-z0-9_]*)[\"']?\s*[:=]\s*"
    r"[\"']?(?:Bearer |Bot |Basic )?)(?P<value>(?!\$\{)[^\s\"',;&}]{6,})",
    re.IGNORECASE,
)
#: ``BOT_KEY=...`` in a command; what the shell or a slot fills in is no secret
_ASSIGNED = re.compile(
    r"(?P<name>\b[A-Z0-9_]*(?:KEY|TOKEN|SECRET|PASS|CREDENTIAL|COOKIE|AUTH)[A-Z0-9_]*=[\"']?)"
    r"(?P<value>(?!\$\{)[^\s\"',;&}]{6,})"
)
_BEARER = re.compile(r"\b(?P<name>Bearer |Bot )(?P<value>[A-Za-z0-9._~+/=-]{8,})")
#: ``https://user:password@host``
_USER_INFO = re.compile(r"(?P<name>\b[a-z][a-z0-9+.-]*://)[^\s/@:]+:[^\s/@]+@")
_HOMES = re.compile(r"(?<![\w).])(?:/home/|/Users/|[A-Za-z]:\\Users\\)[^/\\\s\"':]+|/roo[t]\b")


class PageRedaction:
    """Replaces secrets and folders. `folders`: further ones, by what stands for them."""

    def __init__(self, environment: Mapping[str, str] | None = None, folders: Iterable[tuple[Path, str]] = ()) -> None:
        environment = os.environ if environment is None else environment
        values = {value for name, value in environment.items() if _SECRET_NAME.search(name) and len(value) >= _SHORTEST}
        known = [(value, REDACTED) for value in values if not Path(value).is_absolute()]
        known += [(str(folder), stand_in) for folder, stand_in in folders]
        known += [(home, "~") for home in [environment.get("HOME", "")] if len(home) > 1]
        # The longest first: one may begin with another.
        self._known = sorted(known, key=lambda pair: -len(pair[0]))

    def text(self, text: str) -> str:
        """The text without what nobody may see."""
        for value, stand_in in self._known:
            text = text.replace(value, stand_in)
        text = _SHAPES.sub(REDACTED, text)
        text = _NAMED.sub(rf"\g<name>{REDACTED}", text)
        text = _ASSIGNED.sub(rf"\g<name>{REDACTED}", text)
        text = _BEARER.sub(rf"\g<name>{REDACTED}", text)
        text = _USER_INFO.sub(rf"\g<name>{REDACTED}@", text)
        return _HOMES.sub("~", text)

    def tree(self, tree: Any) -> Any:
        """A tree of plain values, with every text in it redacted."""
        if isinstance(tree, str):
            return self.text(tree)
        if isinstance(tree, dict):
            return {key: self.tree(value) for key, value in cast("dict[str, Any]", tree).items()}
        if isinstance(tree, list | tuple):
            return [self.tree(branch) for branch in cast("list[Any]", tree)]
        return tree


# Texts in Markdown. What strangers wrote neither formats, links nor mentions anybody.

_TICKS = re.compile("`+")
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~@&$-])")
#: between the name of an account and the sign that mentions it
_APART = "\u200b"


def plain(text: str) -> str:
    """A text in a paragraph or a heading: nothing in it formats, links or mentions."""
    line = clean(" ".join(text.split()))
    return _SPECIAL.sub(r"\\\1", line).replace("\\@", f"\\@{_APART}")


def code(text: str) -> str:
    """A text as code in a line."""
    line = clean(" ".join(text.split()))
    longest = max((len(found) for found in _TICKS.findall(line)), default=0)
    ticks = "`" * (longest + 1)
    space = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{space}{line}{space}{ticks}" if line else ""


def block(lines: Sequence[str], language: str = "text") -> list[str]:
    """Lines as a block of code."""
    text = clean_lines("\n".join(lines))
    longest = max((len(found) for found in _TICKS.findall(text)), default=0)
    ticks = "`" * max(3, longest + 1)
    return [f"{ticks}{language}", *text.split("\n"), ticks]
