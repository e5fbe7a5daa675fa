"""Random scenarios with everything that the language has: no run of the clean core may violate an invariant or raise.

    python -m tests.random_scenarios --seeds 1..2000

One module per area of a scenario file; each draws from its own stream, so a change of one area leaves the others.
"""
