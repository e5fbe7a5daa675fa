"""What is promised of callbacks: one test for each statement, S1 to S36, through a real gateway in virtual time."""
