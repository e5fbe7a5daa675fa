"""The origin and the id of what a turn delegates, from the turn alone."""

import hashlib

import msgspec

from trunkline.core.declared import filled
from trunkline.core.records.origin import Origin
from trunkline.core.records.rows import Work
from trunkline.core.values import DelegationId, SessionId

#: characters of ids of turns below that of their message, and digits of the hash of a longer one
_LONGEST_PATH, _DIGITS = 96, 16


def origin_of(work: Work, session: SessionId, now: float) -> Origin:
    """The origin of a turn's delegations: the origin of the work, or else this turn.

    Nothing is looked up: neither by agent nor by who wrote last. So a message that arrives before the call changes
    nothing.
    """
    if work.origin is not None:
        return msgspec.structs.replace(work.origin, chain=work.chain)
    return filled(Origin, work, session=session, work=work.kind, inbound=work.id, at=now)


def delegation_id(work: Work, number: int) -> DelegationId:
    """The id of what a turn delegates with a call: the same in every run, and of limited length in a chain of turns.

    It begins with the id of the message that everything goes back to.
    """
    root = work.id if work.origin is None else work.origin.inbound
    above: str = work.id
    if len(above) - len(root) > _LONGEST_PATH:
        above = f"{root}.{hashlib.sha256(above.encode()).hexdigest()[:_DIGITS]}"
    return DelegationId(f"{above}.hand{number}")
