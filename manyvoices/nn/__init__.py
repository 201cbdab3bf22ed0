"""What trained methods share. Threads that wait sleep: torch's own, spinning, take the cores from each other."""

import os

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
