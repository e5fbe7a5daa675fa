"""Promises that compare facts of the world with facts of the world: what came in, what was said, what people see."""
