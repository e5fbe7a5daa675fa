"""Scenarios of the list, and a `RunSource` that serves the runs made by hand."""

from pathlib import Path

from tests.support.app.traces import DEFECT, bound_completion, foreign_mirror
from trunkline.app.runs.model import Run, ScenarioEntry
from trunkline.core.errors import UsageError

ENTRIES = (
    ScenarioEntry(
        path=Path("scenarios/tour/bound-completion-twice.yaml"),
        id="bound-completion-twice",
        title="A bound completion is announced twice",
        tags=("tour", "hands", "thread"),
        source="seed 002",
        bugs=(DEFECT,),
        story=(
            "Ana asks for a release in the thread `deploy`. The agent hands the work to codex. When codex is done, "
            "the result belongs into the thread, once.\n\nWith the defect the gateway also announces it in the "
            "parent channel: the two paths do not know of each other."
        ),
    ),
    ScenarioEntry(
        path=Path("scenarios/museum/mirror-elsewhere.yaml"),
        id="mirror-elsewhere",
        title="A reply is mirrored into another session",
        tags=("museum", "mirror"),
        source="seed 000",
        story="What is said in one conversation must be in the transcript of that conversation, and in no other.",
    ),
    *(
        ScenarioEntry(
            path=Path(f"scenarios/faults/{name}.yaml"),
            id=name,
            title=title,
            tags=("faults", *tags),
            story=f"{title}. Nothing may be lost or doubled.",
        )
        for name, title, tags in (
            ("crash-between-accept-and-ack", "The process dies between accept and ack", ("crash",)),
            ("reconnect-replay", "A reconnect replays what was handed over before", ("inbound",)),
            ("rate-limited", "The platform asks to wait", ("retry",)),
            ("thread-archived", "The thread of a task is archived while the hand works", ("hands", "thread")),
        )
    ),
)


class ListedRuns:
    """A `RunSource` over the runs above."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int, tuple[str, ...]]] = []

    def scenarios(self) -> tuple[ScenarioEntry, ...]:
        return ENTRIES

    def run(self, entry: ScenarioEntry, *, seed: int, bugs: tuple[str, ...]) -> Run:
        self.asked.append((entry.id, seed, bugs))
        if entry.id == "bound-completion-twice":
            return bound_completion(bug=bool(bugs), seed=seed)
        if entry.id == "mirror-elsewhere":
            return foreign_mirror()
        raise UsageError(f"{entry.path}:12: `say` names no one: expected a person of `world`")
