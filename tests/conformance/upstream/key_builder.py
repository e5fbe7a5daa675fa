"""Session keys of places as upstream's own builder makes them, from parts any of which may be missing.

The rules are those of `session_key_for`, so that what is compared with upstream is the code that runs; here is only
what upstream puts in for a missing part.
"""

from tests.support.profiles import key_text
from trunkline.core.config import GroupScope, SessionConfig
from trunkline.core.keys.v1 import SessionKey
from trunkline.core.profile_rules import Profile
from trunkline.core.profiles.openclaw.keys import UNKNOWN, account_id, agent_id, fold
from trunkline.core.routing.session_keys import session_key_for
from trunkline.core.values import Address, ChatKind


def build_key(
    agent: str | None,
    channel: str | None,
    *,
    account: str | None,
    kind: ChatKind | None,
    peer: str | None,
    session: SessionConfig,
    profile: Profile = Profile.OPENCLAW,
) -> str:
    """The text of a place's key. Without kind and peer it is the main session's; a blank peer is ``unknown``."""
    if kind is None and peer is None:
        return key_text(SessionKey(agent=agent_id(agent)), profile, session.main_key)
    if profile is not Profile.OPENCLAW_2026_08:
        # March: there is no group scope; groups have sessions of their own.
        session = session.model_copy(update={"group_scope": GroupScope.PER_GROUP})
    place = Address(
        channel=fold(channel) or UNKNOWN,
        account=account_id(account),
        kind=kind or ChatKind.DIRECT,
        conversation=(peer or "").strip() or UNKNOWN,
    )
    return key_text(session_key_for(agent_id(agent), place, session, profile), profile, session.main_key)
