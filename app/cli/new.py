"""``trunkline new``: writes a scenario from answers, or from a recording."""

import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from trunkline.app.cli.io.questions import answer, check_new, choose, write_with_schema
from trunkline.app.cli.options import Flag, TraceLimits
from trunkline.app.terminal.output import print_lines
from trunkline.app.text.cells import shell_words
from trunkline.core.errors import UsageError

if TYPE_CHECKING:
    from trunkline.sim.scenario.edit import Tree

_SCHEMA = "scenario.schema.json"
_REMARK = f"yaml-language-server: $schema={_SCHEMA}\nWritten by `trunkline new`."
_PLACE = re.compile(r"@[\w-]+|[\w-]+(/[\w-]+)?", re.ASCII)
#: characters of a text that fit into one message of every platform
_LONGEST = 1000


@dataclass(frozen=True, kw_only=True)
class NewAnswers:
    """The answers that a script gives. What is not given is asked."""

    platform: str | None = None
    """`telegram`, `discord`, `slack`, ... With `--from`: the platform that stands for the one of the recording."""
    symptom: str | None = None
    """What went wrong: `twice`, `lost`, `late`, `wrong place`, `leaked`, `forgot` or `unasked`."""
    text: str | None = None
    """What people read, or should have read."""
    place: str | None = None
    """Where: `@person`, `room` or `room/thread`."""


_DEFAULTS = NewAnswers()


def write_scenario(
    file: Path = Path("scenario.yaml"),
    /,
    *,
    recording: Annotated[Path | None, Parameter(name="--from", allow_leading_hyphen=True)] = None,
    answers: Annotated[NewAnswers, Parameter(name="*")] = _DEFAULTS,
    yes: Flag = False,
    force: Flag = False,
) -> int:
    """Write a scenario file, from answers or from a recording.

    Asks for the platform, what went wrong, and what was read where. The scenario holds on the sound gateway, and its
    `bugs` name a defect with this symptom. Nothing is written that does not show it.

    :param file: The file.
    :param recording: Write down what is in a trace of `run --trace`, `serve --record` or `attach`; `-` reads standard
        input. The scenario shows the same violation when it is played, or the error says what the trace lacks.
    :param yes: Ask nothing: what no option says has its default.
    :param force: Overwrite a file that is there.
    """
    # Imported late, as below: help needs no simulator.
    from trunkline.sim.scenario import schema_text

    check_new(file, "scenario.yaml", force=force)
    if file.suffix not in (".yaml", ".yml"):
        raise UsageError(f"{file} is no name of a scenario: name one that ends with .yaml")
    other = [name for name, value in asdict(answers).items() if value is not None and name != "platform"]
    if recording is None:
        text, commands = _from_answers(file, answers, yes=yes)
    elif other:
        raise UsageError(f"--{other[0]} is an answer, and with --from the recording has the answers: leave it out")
    else:
        text, commands = _from_recording(file, recording, answers.platform or "")
    write_with_schema(file, text, _SCHEMA, schema_text, force=force)
    commands = [shell_words(["trunkline", command, str(file), *words]) for command, *words in commands]
    print_lines(f"{file} is written, with its schema beside it. Next:", *(f"  {line}" for line in commands))
    return 0


def _from_answers(file: Path, given: NewAnswers, *, yes: bool) -> tuple[str, list[list[str]]]:
    """The text of the file, and what to do with it: commands, and the words behind the name of the file."""
    from trunkline.app.runs.known_defects import SYMPTOMS
    from trunkline.app.runs.stories import STORIES, story_of
    from trunkline.sim.scenario.model.world import CALLS, PLATFORMS, THREADLESS

    platforms = [name for name in PLATFORMS if name not in CALLS]
    platform = choose("platform", "Platform", platforms, "telegram", given.platform, yes=yes)
    symptom = choose("symptom", "What went wrong", SYMPTOMS, "twice", given.symptom, yes=yes)

    def check_text(text: str) -> str | None:
        fits = text.strip() and text.isprintable() and len(text) <= _LONGEST
        return None if fits else f"expected a line of at most {_LONGEST} characters"

    def check_place(place: str) -> str | None:
        if not _PLACE.fullmatch(place):
            return f"expected @person, room or room/thread, of letters, digits, - and _, found {place!r}"
        return f"{platform} has no threads: name a room or @person" if "/" in place and platform in THREADLESS else None

    text = answer(
        "What people read, or should have read", "text", "It costs 40 euros.", given.text, check_text, yes=yes
    )
    place = answer("Where (@person, room or room/thread)", "place", "@ana", given.place, check_place, yes=yes)
    bug = STORIES[symptom][0]
    made, broken = _played(file, story_of(symptom, platform, place, text), (bug,), 1)
    if not broken.intersection(SYMPTOMS[symptom]):
        raise UsageError(f"with this text {bug} is not seen as {symptom!r}: give a longer text, or another place")
    return made, [["run"], ["run", "--bug", bug]]


def _from_recording(file: Path, recording: Path, platform: str) -> tuple[str, list[list[str]]]:
    """As `_from_answers`."""
    from trunkline.app.cli.io.trace_input import judged_run, name_of
    from trunkline.app.errors import inconsistent_as_error
    from trunkline.app.runs.retelling import Retelling
    from trunkline.sim.scenario import ScenarioError, load_text
    from trunkline.sim.scenario.edit import text_of
    from trunkline.sim.scenario.model.world import PLATFORMS

    run, name = judged_run(recording, TraceLimits(cut=True)), name_of(recording)
    header = run.trace.header
    with inconsistent_as_error(name):
        retold = Retelling(run.trace, platform)
        tree = retold.tree()
    if strange := [found for found in tree["world"] if found not in ("people", *PLATFORMS)]:
        known = ", ".join(PLATFORMS)
        raise UsageError(f"{strange[0]} is not simulated: name with --platform what stands for it: {known}")
    if "script" not in tree:
        raise UsageError(f"{name} has no message of a person, so that there is nothing to write down")
    lacks = "; ".join(retold.lacks)
    try:
        if header.side == "wire":
            made, missing = text_of(tree, remark=_REMARK), bool(lacks)
            load_text(made, file)
        else:
            # A part of a run may end before its defect shows.
            made, broken = _played(file, tree, header.bugs if run.violated else (), header.seed or 1)
            missing = not broken.issuperset(run.violated)
            lacks = lacks or "what led to it: accounts, stored sessions, steps of operators, or answers of a platform"
    except ScenarioError as error:
        missing, lacks, made = True, error.problems[0].message, ""
    if missing:
        broken = " ".join(run.violated) if header.side != "wire" else ""
        what = f", as it does not violate {broken} when it is played" if broken else ""
        whole = f". The whole scenario: {shell_words(['trunkline', 'run', header.path])}" if header.path else ""
        raise UsageError(f"{name} does not suffice for a scenario{what}. It lacks: {lacks}{whole}")
    if header.side == "wire":
        return made, [["attach", *retold.options]]
    return made, [["run"], *(["run", "--bug", bug] for bug in header.bugs if run.violated)]


def _played(file: Path, tree: "Tree", bugs: tuple[str, ...], seed: int) -> tuple[str, set[str]]:
    """The text of a scenario that expects what its run has shown, and the invariants that break in it."""
    from trunkline.app.runs.scenario_source import SimSource
    from trunkline.app.view.faults.save_as_scenario import saved_text
    from trunkline.sim.plugins import OURS
    from trunkline.sim.scenario import load_text
    from trunkline.sim.scenario.edit import text_of

    source, loaded = SimSource(()), load_text(text_of(tree), file, names=OURS)
    sound = source.run_file(loaded, seed=seed, bugs=())
    if bugs and sound.violated:
        broken = " ".join(sound.violated)
        raise UsageError(f"without {bugs[0]} this breaks {broken} too: its texts alone do not show the cause")
    defective = {bug: source.run_file(loaded, seed=seed, bugs=(bug,)) for bug in bugs}
    text = saved_text(loaded, sound, defective=defective, remark=_REMARK)
    again = source.run_file(load_text(text, file, names=OURS), seed=seed, bugs=())
    if again.violated != sound.violated or again.unmet:
        raise UsageError(f"a second run is not like the first: {again.unmet or again.violated}")
    return text, {name for run in (defective or {"": sound}).values() for name in run.violated}
