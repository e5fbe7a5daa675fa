"""The scenario files of the project."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
SCENARIOS = sorted((ROOT / "scenarios").rglob("*.yaml"))
