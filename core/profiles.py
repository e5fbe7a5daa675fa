"""Profiles: whose rules the gateway follows where Trunkline and the upstream gateway OpenClaw differ.

The default profile follows our own rules. The others reproduce OpenClaw at a point in time, quirks and defects
included, so that its decisions can be explained and compared (tests/conformance). A branch on a profile appears only
where a rule differs, with a comment that names the difference.
"""

from __future__ import annotations

from enum import StrEnum


class Profile(StrEnum):
    """A set of rules."""

    #: our own: isolated peers, one key for a conversation in every direction, typed errors
    TRUNKLINE = "trunkline"
    #: OpenClaw of 2026-03-26 (v2026.3.24)
    OPENCLAW = "openclaw"
    #: OpenClaw of August 2026, where it differs from March
    OPENCLAW_2026_08 = "openclaw-2026-08"

    @property
    def upstream(self) -> bool:
        """Whether this profile reproduces OpenClaw."""
        return self is not Profile.TRUNKLINE

    @property
    def august(self) -> bool:
        """Whether this profile reproduces OpenClaw of August 2026."""
        return self is Profile.OPENCLAW_2026_08


def codec_of(profile: Profile) -> str:
    """The name of the text form of session keys under a profile."""
    return "openclaw" if profile.upstream else "v1"
