"""OpenAI shapes to and from one internal request and reply; pure."""
