"""How long other threads stand still while one works: what an event loop would feel."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any


def worst_pause(work: Callable[..., object], *args: Any) -> float:
    """The longest time that this thread stood still while another worked, as a share of the work's time."""
    working = threading.Thread(target=work, args=args)
    started = last = time.perf_counter()
    pauses = []
    working.start()
    while working.is_alive():
        time.sleep(0.0005)
        pauses.append(time.perf_counter() - last)
        last = time.perf_counter()
    return max(pauses) / (last - started)
