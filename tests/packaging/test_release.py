"""What `make release` refuses. It is run by hand, as it downloads packages; test_wheel.py builds without it."""

import re

import pytest

import hatch_build
from tests.support.paths import ROOT
from tools import notice
from tools.release import changelog_problem, dead_links
from trunkline.core import VERSION


def test_the_changelog_names_the_version() -> None:
    assert changelog_problem((ROOT / "CHANGELOG.md").read_text("utf-8"), VERSION) is None


@pytest.mark.parametrize(
    ("changelog", "version"),
    [
        ("## 0.1.0 (not released yet)\n", "0.1.0"),
        ("## 0.1.0\n", "0.1.0"),
        ("## 0.1.0 (2026-12-01)\n", "0.2.0.dev0"),
        ("## 0.1.01 (2026-12-01)\n", "0.1.0"),
    ],
)
def test_a_changelog_without_the_version_is_found(changelog: str, version: str) -> None:
    assert changelog_problem(changelog, version)
    assert changelog_problem("## 0.1.0 (2026-12-01)\n", "0.1.0") is None


def test_every_link_of_the_long_description_is_absolute() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    assert len(dead_links(readme)) > 20
    text = hatch_build.absolute(readme, "https://host/trunkline", "0.1.0")
    assert dead_links(text) == []
    assert "](https://host/trunkline/raw/v0.1.0/docs/images/tour.png)](https://host/trunkline#build-a-gateway)" in text
    assert "](https://host/trunkline/blob/v0.1.0/docs/http.md)" in text
    assert "](https://host/trunkline/blob/main/docs/http.md)" in hatch_build.absolute(
        readme, "https://host/trunkline", "1.dev0"
    )
    # Nothing else is changed.
    assert re.sub(r"\]\([^)]+\)", "", text) == re.sub(r"\]\([^)]+\)", "", readme)


# NOTICE


def test_the_notice_has_every_package_with_its_license() -> None:
    known = notice.NOTICE.read_text("utf-8")
    assert notice.notice((ROOT / "requirements.lock").read_text("utf-8"), known) == known, "run python -m tools.notice"


def test_a_stale_notice_is_found() -> None:
    known, lock = notice.NOTICE.read_text("utf-8"), (ROOT / "requirements.lock").read_text("utf-8")
    assert notice.notice(lock, known.replace("\ntextual: MIT", "")) == known
    assert notice.notice(lock, known.replace("\ntextual: MIT", "\ntextual: GPL-3.0-only")) == known
    assert notice.notice(lock.replace("\nanyio==", "\nmsgspec==", 1), known) != known


def test_a_license_that_only_some_platforms_need_stays() -> None:
    lock = "tzdata==2026.6 ; sys_platform == 'win32' \\\nanyio==4.16.0 \\\n# Part 3: x\npytest==8 \\\n"
    assert list(notice.packages(lock)) == [("tzdata", False), ("anyio", True)]
    assert notice.notice(lock, "tzdata: Apache-2.0\n").endswith("\nanyio: MIT\ntzdata: Apache-2.0\n")
