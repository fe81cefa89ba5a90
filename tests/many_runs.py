"""Run the suite many times, each with an order, draws and hashes of its own.

    python tests/many_runs.py 1-50 -n 2 -m "not slow"

runs it under the seeds 1 to 50, with what follows them handed to pytest, prints a line a run, and
stops at the first that fails. A test that passes by luck fails here sooner or later.
"""

import os
import subprocess
import sys
import time


def run(seed, arguments):
    """Run the suite once; return how long it took, or exit with what it printed."""
    begun = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", f"--randomly-seed={seed}", *arguments],
        env={**os.environ, "PYTHONHASHSEED": str(seed)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"seed {seed} fails:\n{done.stdout}{done.stderr}")
    summary = done.stdout.strip().splitlines()[-1]
    print(f"seed {seed}: {summary}; {time.perf_counter() - begun:.0f} s", flush=True)


def main(seeds="1-50", *arguments):
    """Run it under each of the seeds."""
    first, last = map(int, seeds.split("-"))
    for seed in range(first, last + 1):
        run(seed, arguments)
    print(f"all runs from {first} to {last} passed")


if __name__ == "__main__":
    main(*sys.argv[1:])
