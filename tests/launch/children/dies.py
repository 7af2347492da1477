"""Says something on both streams, leaves a child behind and ends with exit code 7.  dies.py PID_FILE"""

import pathlib
import subprocess
import sys

left = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
draft = pathlib.Path(sys.argv[1] + ".draft")
draft.write_text(str(left.pid))
draft.rename(sys.argv[1])
sys.stdout.write("loading weights\n")
sys.stdout.flush()
sys.stderr.write("CUDA out of memory " + "x" * 1000 + "\n")
sys.exit(7)
