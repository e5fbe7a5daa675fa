"""Folders of the clone, for tests that read its files or start its programs."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
SCENARIOS = ROOT / "scenarios"
#: those for gateways that are not ours; tests/attach plays them
ATTACH_FILES = sorted((SCENARIOS / "attach").rglob("*.yaml"))
#: those that are made from tables; tests/families makes and plays them
FAMILY_FILES = sorted((SCENARIOS / "families").glob("*.yaml"))
SCENARIO_FILES = sorted(set(SCENARIOS.rglob("*.yaml")) - set(ATTACH_FILES) - set(FAMILY_FILES))
FIXTURES = ROOT / "tests" / "fixtures"
