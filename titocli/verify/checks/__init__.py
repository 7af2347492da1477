"""The checks of ``verify-template``: each is data for a person, and a pure function over a conversation."""
