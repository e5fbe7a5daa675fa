"""A random scenario for each seed, as the plain values of a file."""

from typing import Any

import yaml

from tests.random_scenarios.cast import make_cast
from tests.random_scenarios.gateway import make_gateway
from tests.random_scenarios.script import Script, stored_sessions
from tests.random_scenarios.work import add_work
from tests.random_scenarios.world import make_world

Tree = dict[str, Any]


def make_scenario(seed: int) -> Tree:
    """The scenario of a seed: the same on any machine."""
    ground = make_world(seed)
    gateway = make_gateway(seed, ground)
    agents = [agent["id"] for agent in gateway["agents"]]
    script = Script(seed, ground, gateway)
    steps = script.steps()
    made: Tree = {
        "scenario": 1,
        "title": f"random scenario {seed}",
        "seed": seed,
        "gateway": gateway,
        "world": ground.world,
        "cast": make_cast(seed, ground, agents, threads=script.threads, said=script.said),
        "script": steps,
    }
    add_work(seed, made, ground)
    stored = stored_sessions(seed, ground, agents)
    return {**made, "stored": {"sessions": stored}} if stored else made


class _Plain(yaml.SafeDumper):
    """Writes every value out: scenario files have no aliases."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def as_yaml(tree: Tree) -> str:
    return yaml.dump(tree, Dumper=_Plain, sort_keys=False, allow_unicode=True, width=120)
