"""Hands: delegations to asynchronous agents, and reports of the results."""
