"""`trunkline fakes`: those that serve are in a process of their own."""
