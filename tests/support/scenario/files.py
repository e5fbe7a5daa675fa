"""The scenario files of the project."""

from pathlib import Path

ROOT = Path(__file__).parents[3]
SCENARIOS = sorted((ROOT / "scenarios").rglob("*.yaml"))
