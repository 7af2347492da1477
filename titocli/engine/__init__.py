"""Engines behind one protocol: SGLang over HTTP, an embedded CPU model, a scripted replay."""
