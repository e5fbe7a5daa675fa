"""Reports of runs: as text for people, as JSON and JUnit for machines."""
