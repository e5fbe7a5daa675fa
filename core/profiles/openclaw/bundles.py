"""The rules of OpenClaw as the two profiles that ship: March 2026, and what August changed of it."""

from __future__ import annotations

from trunkline.core.profile_rules import Profile, ProfileRules

MARCH = ProfileRules(Profile.OPENCLAW)
AUGUST = ProfileRules(Profile.OPENCLAW_2026_08, base=MARCH)
