"""`trunkline fakes`: the fake platforms as a program, and a client for tests that control it."""
