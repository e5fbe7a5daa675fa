"""Profiles of the toy gateway, and scenarios that take a second."""

from pathlib import Path

from trunkline.sim.attach.profile_files import profile_path

_SCENARIO = """\
scenario: 1
title: A question {title}
source: openclaw/openclaw#1520
tags: [attach]
world:
  people: [ana]
  telegram: {{}}
cast:
  agents:
    main:
      - do: [{{reply: "Done."}}]
script:
{steps}
"""
_ASK = '  - {at: 100ms, id: one, as: ana, in: "telegram/@ana", say: "hello"}'


def toy_profile(folder: Path, *defects: str, name: str = "mine", **fields: str) -> Path:
    """A profile of the toy gateway with defects. `fields`: lines of the profile that are replaced or added."""
    text = profile_path("toy").read_text("utf-8")
    fields = {"name": name, "title": f"The gateway {name}", "settle": "500ms", "patience": "3s", **fields}
    lines = [line for line in text.splitlines() if line.partition(":")[0] not in fields]
    at = lines.index("environment:") + 1
    lines[at:at] = [f"  TOY_DEFECTS: {','.join(defects)}"] if defects else []
    path = folder / f"{name}.yaml"
    path.write_text("\n".join([*lines, *(f"{key}: {value}" for key, value in fields.items())]) + "\n")
    return path


def toy_scenario(folder: Path, name: str, *steps: str, fault: str = "") -> Path:
    """A scenario with one question, and further steps after it."""
    every = [*([f"  - {{at: 0s, fault: {fault}}}"] if fault else []), _ASK, *(f"  - {step}" for step in steps)]
    path = folder / f"{name}.yaml"
    path.write_text(_SCENARIO.format(title=name, steps="\n".join(every)))
    return path
