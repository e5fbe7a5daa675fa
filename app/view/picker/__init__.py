"""The contents of the scenario picker, without Textual."""
