"""Ignores SIGTERM, as does its child.  stubborn.py PID_FILE"""

import pathlib
import signal
import subprocess
import sys
import time

signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
draft = pathlib.Path(sys.argv[1] + ".draft")
draft.write_text(str(child.pid))
draft.rename(sys.argv[1])
time.sleep(300)
