"""What `make attach-openclaw` installs: exact versions with their hashes, and no address to get them from."""

import json
import re
from pathlib import Path

from trunkline.sim.attach.profile_files import load_profile, profile_path

LOCKS = Path(__file__).parents[3] / "tools" / "attach" / "openclaw"


def test_every_package_has_a_hash_and_no_address() -> None:
    packages = json.loads((LOCKS / "package-lock.json").read_text())["packages"]
    wanted = json.loads((LOCKS / "package.json").read_text())["dependencies"]

    assert packages[""]["dependencies"] == wanted
    for where, one in packages.items():
        # What a package brings inside has the hash of that package.
        if where and not one.get("inBundle"):
            assert one["integrity"].startswith("sha512-"), where
            assert "resolved" not in one, where


def test_the_plugins_are_those_of_the_same_version() -> None:
    openclaw = json.loads((LOCKS / "package.json").read_text())["dependencies"]["openclaw"]
    plugins = json.loads((LOCKS / "plugins.json").read_text())

    assert set(plugins["plugins"].values()) == {openclaw}
    assert openclaw in load_profile(profile_path("openclaw")).versions
    for name, packages in plugins["packages"].items():
        assert packages[name].startswith(f"{openclaw} sha512-")
        assert all(re.fullmatch(r"\S+ sha512-\S+", one) for one in packages.values())
