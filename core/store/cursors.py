"""Where the accounts of real platforms have read to, as the store keeps it."""

from trunkline.core.store.commands import Write
from trunkline.core.store.queries import Read


class SaveCursor(Write[None], frozen=True, kw_only=True):
    """Keep the newest value of a cursor; it replaces the one before."""

    channel: str
    account: str
    #: what it points into, e.g. ``updates``
    name: str
    value: str


class FindCursor(Read[str | None], frozen=True, kw_only=True):
    """The newest value of a cursor; none: nothing was saved."""

    channel: str
    account: str
    name: str
