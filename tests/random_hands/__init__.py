"""Random scenarios about delegated work: every result must be seen once, by the people who asked, or have a reason.

    python -m tests.random_hands --seeds 1..5000

Three people on two platforms with two accounts each, and hands of every kind; the gateway is killed at random commits
and steps. `oracle` compares what was asked with what people saw, and knows nothing of the invariants.
"""
