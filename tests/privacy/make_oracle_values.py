"""Compute `vectors/dp_accounting.json`: epsilon by dp-accounting at points that span the domain.

Run it in an environment with dp-accounting 0.6 (``pip install 'skdp[oracles]'``)::

    python tests/privacy/make_oracle_values.py

For each point and direction the grid of dp-accounting's privacy loss distribution (its pessimistic
estimate) is refined until two grids, each half as wide as the one before, agree to 0.05 %. Points
where that takes too long are left out. The numbers decide tests, so nothing here uses skdp: the
first grid follows from the spread of one step's loss.
"""

import json
import math
import time
from pathlib import Path

import numpy as np
from dp_accounting.pld import privacy_loss_distribution as pld

OUTPUT = Path(__file__).parent / "vectors" / "dp_accounting.json"
N_POINTS = 90
MOST_SECONDS = 25.0
MOST_BUCKETS = 3_000_000


def spread_of_one_step(noise, rate):
    """Standard deviation and range of the loss of one step, in the remove direction."""
    u = np.linspace(-9.0, 9.0 + 1 / noise, 4001)
    line = u / noise - 1 / (2 * noise**2)
    loss = np.logaddexp(np.log1p(-rate), np.log(rate) + line)
    weights = np.exp(-u * u / 2 + loss - np.max(-u * u / 2 + loss))
    weights /= weights.sum()
    mean = weights @ loss
    return math.sqrt(weights @ (loss - mean) ** 2), loss[-1] - loss[0]


def epsilons(noise, rate, n_steps, delta, interval):
    """Epsilon in both directions on one grid, at delta and at 0.999 delta."""
    one = pld.from_gaussian_mechanism(
        noise,
        sampling_prob=rate,
        pessimistic_estimate=True,
        value_discretization_interval=interval,
        use_connect_dots=True,
    )
    composed = one.self_compose(n_steps)
    sides = {"remove": composed._pmf_remove, "add": composed._pmf_add}
    return {side: pmf.get_epsilon_for_delta(delta) for side, pmf in sides.items()}, {
        side: pmf.get_epsilon_for_delta(0.999 * delta) for side, pmf in sides.items()
    }


def refine(noise, rate, n_steps, delta):
    """Halve the grid until both directions agree to 0.05 %, or give up."""
    spread, extent = spread_of_one_step(noise, rate)
    interval = spread / 4
    before = None
    start = time.perf_counter()
    while time.perf_counter() - start < MOST_SECONDS:
        composed = extent + 16 * spread * math.sqrt(n_steps)
        if composed / interval > MOST_BUCKETS:
            return None
        now, above = epsilons(noise, rate, n_steps, delta, interval)
        if not all(math.isfinite(value) for value in now.values()):
            return None
        if before is not None and all(
            abs(now[side] - before[side]) <= 5e-4 * now[side] for side in now
        ):
            return {"interval": interval, "epsilon": now, "epsilon_at_0.999_delta": above}
        before, interval = now, interval / 2
    return None


def candidates(seed=20240501):
    """Points of the domain, leaving out those where delta exceeds the total variation."""
    random = np.random.default_rng(seed)
    while True:
        noise = 10 ** random.uniform(-1.3, 3)
        rate = 10 ** random.uniform(-5, -0.02)
        n_steps = int(10 ** random.uniform(0, 5.3))
        delta = 10 ** random.uniform(-10, math.log10(0.5))
        log_ratio = min(math.log(rate * math.sqrt(n_steps)) + min(noise**-2, 50) / 2, 9)
        taken = -math.expm1(n_steps * math.log1p(-rate))
        if taken > 2 * delta and math.exp(log_ratio) * min(1.0, 1 / noise) > 3 * delta:
            yield noise, rate, n_steps, delta


def main():
    rows = []
    for noise, rate, n_steps, delta in candidates():
        noise, rate, delta = (float(f"{value:.6g}") for value in (noise, rate, delta))
        found = refine(noise, rate, n_steps, delta)
        if found is not None and found["epsilon"]["remove"] > 0:
            point = {"noise_multiplier": noise, "sample_rate": rate, "n_steps": n_steps}
            rows.append({**point, "delta": delta, **found})
            print(len(rows), rows[-1], flush=True)
        if len(rows) == N_POINTS:
            break
    OUTPUT.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
