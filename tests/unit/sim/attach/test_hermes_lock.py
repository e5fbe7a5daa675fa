"""What `make attach-hermes` installs is pinned by hashes, names no address, and is what the profile was tried with."""

import os
import re
import subprocess

import pytest

from tests.support.paths import ROOT
from trunkline.sim.attach.profile_files import load_profile, profile_path

FOLDER = ROOT / "tools" / "attach"
LOCK = (FOLDER / "hermes.lock").read_text("utf-8")
#: package -> its entry
ENTRIES = {one.partition("==")[0]: one for one in re.split(r"\n(?=[a-z0-9])", LOCK.strip())}


def test_it_pins_the_version_with_which_the_profile_was_tried() -> None:
    profile = load_profile(profile_path("hermes"))
    assert ENTRIES["hermes-agent"].split()[0] == f"hermes-agent=={profile.versions[-1]}"
    assert profile.install.task == "make attach-hermes"


def test_every_package_has_a_hash() -> None:
    assert len(ENTRIES) > 50
    assert [name for name, entry in ENTRIES.items() if "--hash=sha256:" not in entry] == []


def test_it_names_no_address() -> None:
    assert re.findall(r"https?:|file:|index[-]url|find[-]links", LOCK) == []


def test_it_has_what_is_asked_for() -> None:
    lines = (FOLDER / "hermes.in").read_text("utf-8").splitlines()
    asked = [re.sub(r"\[.*?\]", "", line) for line in lines if line and not line.startswith("#")]
    assert [one for one in asked if ENTRIES.get(one.partition("==")[0], "").split()[:1] != [one]] == []


@pytest.mark.skipif(os.name == "nt", reason="a shell script")
def test_a_wrong_option_changes_nothing() -> None:
    done = subprocess.run([FOLDER / "hermes.sh", "--help"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "hermes: usage: tools/attach/hermes.sh [--lock]\n"
