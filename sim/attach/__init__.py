"""Runs a gateway that is not ours as a black box: platforms and a model on loopback, faults at events of the wire."""
