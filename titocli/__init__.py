"""titocli: token in, token out for people who train language-model agents.

The library is layered (see ARCHITECTURE.md); this package imports nothing on its own.
"""

__version__ = "0.1.0"
__all__ = ["__version__"]
