"""How much of the tests runs: a sample by default, nearly everything with `--all`, everything with `--nightly`.

`make test` takes three minutes, so it runs only some of the tests that cost much. Ways to be left out of it:

- A module in a folder of `SAMPLES` that is not named there: it is not even imported, unless the command line names its
  folder.
- `@pytest.mark.slow(every=N)`: every Nth item of a parametrised test runs, and `slow` alone leaves a test to `--all`.
- `scaled`, inside a test: a full or a smaller parameter.

`@pytest.mark.nightly(every=N)`, or `nightly` alone, leaves tests out of `--all` too, which CI runs.
"""

import functools
import os
from collections.abc import Iterable, Mapping
from typing import TypeVar

import pytest

T = TypeVar("T")
#: Set by tests/conftest.py, so that processes that tests start see it too.
VARIABLE = "TRUNKLINE_TESTS"

#: Folders (and modules) whose tests start processes, serve sockets or draw screens, each with what `make test` runs of
#: it: folders, modules and tests. One of each kind, and all that costs nothing.
SAMPLES: Mapping[str, tuple[str, ...]] = {
    "tests/attach": (
        *("judge", "openclaw", "process/test_closed_network.py", "process/test_gateway_log.py"),
        "cli/test_attach.py::test_a_violation_is_found_counted_and_reported",
        *(
            f"test_own_gateway.py::test_with_the_defaults_nobody_is_left_in_silence[{stem}]"
            for stem in ("model-fails-for-good", "refused-for-good", "request-is-lost")
        ),
        "test_own_gateway.py::test_the_profile_is_the_configuration_of_the_readme",
    ),
    "tests/browser": ("test_web_chat.py::test_a_person_talks_and_gets_the_answer",),
    "tests/cli/processes": (
        "test_reproduction.py::test_the_line_makes_the_same_run[a defect]",
        "test_serve.py::test_a_newcomer_types_one_command_and_talks_to_it",
        "test_terminal.py::test_quitting_leaves_the_terminal_as_it_was",
        "test_watch.py::test_a_file_is_followed_from_before_it_exists_to_its_violation",
    ),
    "tests/crash": (
        *(
            f"test_sweep.py::test_everything_holds_wherever_the_gateway_ends[{stem}]"
            for stem in ("B043-thread-reply-in-main", "denial-holds", "hands-lost")
        ),
        "test_sweep.py::test_a_crash_that_did_not_happen_is_reported",
        "test_sweep.py::test_a_defect_that_only_a_crash_shows_is_found_and_its_run_can_be_done_again",
        "test_sweep.py::test_a_group_of_kills_that_are_not_the_same_run_is_found",
        "test_sweep.py::test_a_kill_and_a_stop_really_happen",
        "test_sweep.py::test_a_second_crash_counts_from_the_restart",
        "test_bound.py::test_a_defect_is_found_wherever_the_gateway_ends",
        "test_received.py",
        "test_reported.py::test_a_sound_gateway_is_not_blamed",
        "test_reported.py::test_an_answer_that_comes_twice_after_each_crash_is_found_under_any_id",
        "test_sends.py::test_a_gateway_that_forgets_its_keys_is_found",
    ),
    "tests/kill": (
        *("test_platform_verdict.py", "test_verdict.py"),
        "test_kill.py::test_nothing_is_lost_or_doubled_on_a_platform_with_keys",
    ),
    "tests/matrix": (),
    "tests/packaging": (),
    "tests/snapshot": (
        "screens/test_bindings.py::test_bindings[120x40]",
        "screens/test_diff.py::test_diff[120x40]",
        "screens/test_hands.py::test_hands[120x40]",
        "screens/test_invariants.py::test_invariants_at_the_violation[120x40]",
        "screens/test_messages.py::test_messages[120x40]",
        "screens/test_overview.py::test_overview_at_the_violation[120x40]",
        "screens/test_pictures.py::test_help[120x40]",
        "screens/test_pictures.py::test_picker[120x40]",
        "screens/test_pictures.py::test_sessions[120x40]",
        "screens/test_pictures.py::test_timeline_at_the_violation[120x40]",
        "screens/test_queue.py::test_queue[120x40]",
        "screens/test_wire_side.py::test_questions[120x40]",
        "behaviour/test_behaviour.py::test_plain_ascii_draws_nothing_else",
        "behaviour/test_behaviour.py::test_space_plays_to_the_violation_and_on",
        "behaviour/test_keys.py",
        "behaviour/test_search.py::test_the_filter_is_shown_followed_and_cleared",
        "behaviour/test_watch.py::test_it_follows_the_end_and_stops_at_the_first_violation",
    ),
    "tests/unit/core/http/test_schemathesis.py": (),
    "tests/wire": (
        "test_each_platform.py",
        *("play/test_call_book.py", "play/test_capabilities.py", "play/test_fit.py", "serve/test_capabilities.py"),
        *("signal/test_bodies.py", "slack/test_errors.py", "slack/test_reading.py", "telegram/test_reading.py"),
        "whatsapp/test_bodies.py",
    ),
}

#: What runs longest, single tests of up to minutes. They begin first, so that in the end each worker has short ones.
LONGEST = (
    *("tests/kill/", "tests/matrix/test_kill.py", "tests/mutants/", "tests/packaging/", "tests/reach/"),
    *("tests/attach/test_own_gateway.py", "tests/unit/house/test_scale.py"),
)

#: The most tests that `make test` may have, and the most of them in the folders above. Cases that cost little are one
#: test (`for_each`), and what costs much is left to `--all`. Whoever raises one of these takes everybody's time.
MOST_ITEMS = 10_600
MOST_HEAVY = 900


def run_all() -> bool:
    """Whether everything runs, but for what is left to the night."""
    return os.environ.get(VARIABLE) in ("all", "nightly")


def run_nightly() -> bool:
    return os.environ.get(VARIABLE) == "nightly"


def scaled(full: T, sample: T) -> T:
    """Return `full` where everything runs, else `sample`."""
    return full if run_all() else sample


def is_left_out(path: str, samples: Mapping[str, tuple[str, ...]] = SAMPLES) -> bool:
    """Whether nothing of this folder, module or test is in the sample. Paths are relative to the clone."""
    for folder, sample in samples.items():
        if _is_in(path, folder):
            kept = [f"{folder}/{entry}" for entry in sample]
            return not any(_is_in(path, entry) or _is_in(entry, path) for entry in kept)
    return False


def is_named(test: str, samples: Mapping[str, tuple[str, ...]] = SAMPLES) -> bool:
    """Whether a sample names this very test, with its parameters. It runs then, even if it is marked as slow."""
    return any(test == f"{folder}/{entry}" for folder, sample in samples.items() for entry in sample)


@functools.lru_cache(maxsize=4096)
def heavy_folder(path: str) -> str | None:
    """The folder of `SAMPLES` that a path leads into."""
    return next((folder for folder in SAMPLES if _is_in(path, folder)), None)


def in_order(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """Sort items by the time that they take, `LONGEST` first; all else stays in its order."""
    return sorted(items, key=lambda item: not item.nodeid.startswith(LONGEST))


def _is_in(path: str, outer: str) -> bool:
    """Whether a path or the id of a test is, or is part of, a folder, a module, or a test with all its parameters."""
    return path == outer or path.startswith((f"{outer}/", f"{outer}::", f"{outer}["))


def split_sample(items: Iterable[pytest.Item], mark: str = "slow") -> tuple[list[pytest.Item], list[pytest.Item]]:
    """Split items into those that run and those that a mark leaves out. The first of a parametrised test runs."""
    chosen: list[pytest.Item] = []
    left: list[pytest.Item] = []
    seen: dict[str, int] = {}
    for item in items:
        found = item.get_closest_marker(mark)
        if found is None or (mark == "slow" and is_named(item.nodeid)):
            chosen.append(item)
            continue
        test = item.nodeid.partition("[")[0]
        number = seen[test] = seen.get(test, -1) + 1
        every = found.kwargs.get("every")
        (chosen if every and number % every == 0 else left).append(item)
    return chosen, left
