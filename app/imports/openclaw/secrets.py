"""Tokens in what OpenClaw has stored, such as the address of a request in an error: they are never shown."""

from __future__ import annotations

import re

_TOKENS = re.compile(
    r"""(?x)
      \b\d{6,12}:[A-Za-z0-9_-]{30,}                       # Telegram
    | \bx(?:ox[abeprs]|app)-[A-Za-z0-9-]{6,}              # Slack
    | \bsyt_[A-Za-z0-9_]{6,}                              # Matrix
    | \b[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{5,8}\.[A-Za-z0-9_-]{20,}   # Discord
    | \beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+         # a JSON Web Token
    | \b(?:sk|pk|rk|ghp|gho|ghs|glpat|AKIA)[-_][A-Za-z0-9_-]{12,}
    | (?<=[Bb]earer\ )[A-Za-z0-9._~+/=-]{8,}
    | (?<=://)[^/\s:@]+:[^/\s@]+(?=@)                     # a password in an address
    """
)
_NAMED = re.compile(
    r"(?i)\b(token|secret|password|passwd|api[_-]?key|authorization)(\s*[=:]\s*[\"']?)(?!\[)(?:bearer\s+)?[^\s\"',;&]{4,}"
)


def without_tokens(text: str) -> str:
    """A text with ``[token]`` in place of whatever looks like one."""
    return _NAMED.sub(r"\1\2[token]", _TOKENS.sub("[token]", text))
