"""Folders of the clone, for tests that read its files or start its programs."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
SCENARIOS = ROOT / "scenarios"
SCENARIO_FILES = sorted(SCENARIOS.rglob("*.yaml"))
FIXTURES = ROOT / "tests" / "fixtures"
