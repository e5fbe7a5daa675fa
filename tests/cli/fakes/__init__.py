"""`trunkline fakes`, in a process of its own."""
