"""``trunkline bindings``: the conversations of a store file that are bound to sessions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

app = App(
    name="bindings",
    help="Conversations that are bound to sessions: list them, and unbind one while no gateway runs. "
    "Exit code: 0 done, 1 not possible and nothing was changed, 2 wrong usage or file.",
)

Id = Annotated[str, Parameter(allow_leading_hyphen=True)]
Flag = Annotated[bool, Parameter(negative=(), show_default=False)]


@app.command(name="list")
def list_(*, store: Path, ended: Flag = False, json: Flag = False) -> int:
    """List what is bound, oldest first.

    Parameters
    ----------
    store:
        The store file of a gateway.
    ended:
        Also what has ended.
    json:
        Print JSON.
    """
    from trunkline.app.cli.store.bindings import print_list

    return print_list(store, ended=ended, json=json)


@app.command
def unbind(binding: Id, /, *, store: Path, json: Flag = False) -> int:
    """End a binding: its conversation goes its default route from the next start on.

    A gateway that runs is asked itself: by its agent's program, or by `/unfocus` in the conversation.

    Parameters
    ----------
    binding:
        Its id, as `trunkline bindings list` tells it.
    store:
        The store file of a gateway.
    json:
        Print JSON.
    """
    from trunkline.app.cli.store.bindings import unbind_one

    return unbind_one(store, binding, json=json)
