"""Tries against the toy gateway, with short waits."""

from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from trunkline.core.events import Event
from trunkline.sim import ScenarioFile
from trunkline.sim.attach.kill_points import KillPoint
from trunkline.sim.attach.profile import GatewayProfile
from trunkline.sim.attach.profile_files import SHIPPED, load_profile
from trunkline.sim.attach.worker import AttachTry
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.index.marks import AnswerMark, answers_in
from trunkline.sim.loop import run_real_time
from trunkline.sim.scenario.load import load_text

HEAD = """
scenario: 1
title: A try
world:
  people: [ana, ben]
  telegram: {latency: 5ms, rooms: {ops: {threads: [deploy]}}}
cast:
  agents:
    main:
      - {when: {text: "*slow*"}, do: [{think: 400ms}, {reply: "Late."}]}
      - {do: [{reply: "Done."}]}
"""


def toy(**environment: str) -> GatewayProfile:
    """The toy gateway, with further environment variables."""
    profile = load_profile(SHIPPED / "toy.yaml")
    return profile.model_copy(update={"environment": {**profile.environment, **environment}})


def scenario(*steps: str, more: str = "", head: str = HEAD) -> ScenarioFile:
    """A scenario with these steps, each in the form ``at: 0s, as: ana, ...``."""
    return load_text("\n".join([head.strip(), "script:", *(f"  - {{{step}}}" for step in steps), more]), "try.yaml")


def tried(
    *steps: str,
    profile: GatewayProfile | None = None,
    kill_at: KillPoint | None = None,
    file: ScenarioFile | None = None,
    settle: float = 0.3,
    patience: float = 1.5,
    watch: Callable[[Event], None] | None = None,
) -> tuple[Event, ...]:
    """The events of one try."""
    played = file or scenario(*steps)
    with TemporaryDirectory() as folder:

        async def main(loop: object) -> tuple[Event, ...]:
            one = AttachTry(
                played,
                profile or toy(),
                loop,  # pyright: ignore[reportArgumentType]
                Path(folder),
                install=Path(folder),
                kill_at=kill_at,
                settle=settle,
                patience=patience,
                watch=watch,
            )
            return (await one.play()).events

        return run_real_time(main)


def kinds(events: Iterable[Event], *wanted: str) -> list[str]:
    """The kinds of events, in order, of those that are wanted."""
    return [event.kind for event in events if event.kind in wanted]


def accepted(events: Iterable[Event]) -> list[str]:
    """The texts that people saw, in order."""
    return [event.body.text for event in events if isinstance(event.body, WireAccepted)]


def answers(events: Iterable[Event], *wanted: str) -> list[AnswerMark]:
    """The answers in messages that were accepted, or in events of these kinds, in order."""
    texts = [getattr(event.body, "text", "") for event in events if event.kind in (wanted or ("wire.accepted",))]
    return [mark for text in texts for mark in answers_in(text)]


def bodies(events: Iterable[Event], kind: str) -> list[object]:
    """The bodies of one kind."""
    return [event.body for event in events if event.kind == kind]


def first(events: Iterable[Event], kind: str, text: str = "") -> Event:
    """The first event of a kind, with a text."""
    return next(event for event in events if event.kind == kind and text in getattr(event.body, "text", ""))
