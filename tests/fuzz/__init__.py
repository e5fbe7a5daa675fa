"""Random scenarios: that the clean core keeps every promise in them, and that they find each known defect.

python -m tests.fuzz                 # the table of all bug switches: found when, shrunk to how many steps
"""
