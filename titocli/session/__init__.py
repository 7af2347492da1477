"""The session core: pure, no I/O, no asyncio, no clock."""
