"""The JSON envelope and what a terminal shows."""
