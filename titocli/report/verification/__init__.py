"""What a verification found, for people and for programs: every report is a function of its events."""
