"""Hands: delegations to agents that work asynchronously, and how their results are reported."""
