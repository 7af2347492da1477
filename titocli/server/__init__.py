"""The HTTP server that owns the tokens of its sessions."""
