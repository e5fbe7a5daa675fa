"""What happens on the wire, a line for each event that people would call one, on the terminal."""

from __future__ import annotations

from trunkline.app.runs.model import Run
from trunkline.app.terminal.output import print_lines
from trunkline.app.text.cells import cut
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.kinds import describe
from trunkline.core.events import Event, Trace, TraceHeader
from trunkline.core.events.gateway import RunJoined
from trunkline.sim.events.script import RunPhase
from trunkline.sim.events.world import WorldAccount, WorldPerson, WorldPlace

#: the setting, which the first lines show already
_SETTING = (RunJoined, RunPhase, WorldAccount, WorldPerson, WorldPlace)
#: cells of a line
_WIDEST = 500


class LiveLines:
    """Prints events. Those of the beginning are not shown; `begin` comes after them."""

    def __init__(self) -> None:
        self._view = _empty()
        self._begun = False

    def begin(self) -> None:
        """Print what comes from now on."""
        self._begun = True

    def show(self, event: Event) -> None:
        """Take an event, and print it unless it belongs to the setting."""
        if event.seq == 1:
            # Another world, whose numbers begin again.
            self._view = _empty()
        self._view.grow((event,), ())
        if self._begun and not isinstance(event.body, _SETTING):
            # The record has the whole text, of which a stranger may have written a megabyte.
            print_lines(f"{event.at:9.3f}s  {cut(describe(self._view, event), _WIDEST)}", flush=True)


def _empty() -> RunView:
    return RunView(Run(trace=Trace(header=TraceHeader(scenario="fakes"), events=()), verdicts=()))
