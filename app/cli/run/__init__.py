"""Commands that run or show runs."""
