"""The erasure of a person for a legal request: the command, the record that stays of it, and what it answers."""

import msgspec

from trunkline.core.store.commands import Write
from trunkline.core.store.queries import Read


class Erasure(msgspec.Struct, frozen=True, kw_only=True):
    """The record of an erasure. It names nobody who was erased."""

    #: seconds on the gateway's clock
    at: float
    #: the token, or ``operator`` for a command on a store file
    by: str
    #: how many rows were removed, by table
    rows: dict[str, int]


class ErasePerson(Write[Erasure], frozen=True, kw_only=True):
    """Remove what a person wrote and got, and what was done for them.

    Their direct conversations go whole, with the sessions that only they have, and all that hands did there. Elsewhere
    go their own messages, and the answers to these that the queue still has. Raises `IllegalTransition`, with a list,
    while any of it is still open: its turn, its delivery or its binding would bring it back.
    """

    channel: str
    #: the platform's id, byte for byte
    person: str
    by: str
    now: float


class ListErasures(Read[tuple[Erasure, ...]], frozen=True, kw_only=True):
    """The records of erasures, oldest first."""


class Erased(msgspec.Struct, frozen=True, kw_only=True):
    erasure: Erasure
    #: files of the recording that were deleted
    recordings: int = 0
