"""The production store inside the simulator: inline SQLite, a disk with faults."""
