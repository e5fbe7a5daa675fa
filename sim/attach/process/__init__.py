"""The processes of a gateway that is not ours, and what surrounds them: process tree, network, log, state."""
