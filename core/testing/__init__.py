"""What users test their own parts with."""
