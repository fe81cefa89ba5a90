"""Time and tightness of the accountant beside dp-accounting and, where installed, Opacus.

Run on one core in an environment that has dp-accounting::

    OMP_NUM_THREADS=1 python tests/benchmarks/bench_accounting.py

Each row is one question; ours is asked with an empty cache, the median of several times. Ratios
are their time over ours, from the same run. All round up, so that the smaller epsilon is tighter.
"""

import importlib.util
import statistics
import time

from skdp.privacy import SubsampledGaussian, calibrate_noise_multiplier, get_epsilon
from skdp.privacy._accountant import _cost
from skdp.privacy._calibration import _noise_multiplier

TABLE = [
    (1.0, 0.08, 375, 1e-5),
    (0.5, 0.08, 375, 1e-5),
    (2.0, 0.08, 375, 1e-5),
    (4.0, 0.08, 375, 1e-5),
    (1.1, 0.0042667, 14062, 1e-5),
    (0.8, 0.001, 10000, 1e-6),
    (0.3, 0.01, 1000, 1e-5),
]
REPEATS = 15


def timed(question, repeats=1, before=lambda: None):
    """Answer and median seconds."""
    seconds = []
    for _ in range(repeats):
        before()
        start = time.perf_counter()
        answer = question()
        seconds.append(time.perf_counter() - start)
    return answer, statistics.median(seconds)


def forget():
    _cost.cache_clear()
    _noise_multiplier.cache_clear()


def ours(noise, rate, n_steps, delta):
    return get_epsilon(SubsampledGaussian(noise, rate, n_steps), delta)


def google(noise, rate, n_steps, delta):
    import dp_accounting
    from dp_accounting.pld.pld_privacy_accountant import PLDAccountant

    event = dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(noise))
    return PLDAccountant().compose(event, n_steps).get_epsilon(delta)


def opacus(noise, rate, n_steps, delta):
    from opacus.accountants import PRVAccountant

    accountant = PRVAccountant()
    accountant.history = [(noise, rate, n_steps)]
    return accountant.get_epsilon(delta)


def google_calibration():
    import dp_accounting
    from dp_accounting.pld.pld_privacy_accountant import PLDAccountant

    def event(noise):
        step = dp_accounting.PoissonSampledDpEvent(0.08, dp_accounting.GaussianDpEvent(noise))
        return dp_accounting.SelfComposedDpEvent(step, 375)

    return dp_accounting.calibrate_dp_mechanism(PLDAccountant, event, 1.0, 1e-5)


def installed(name):
    return importlib.util.find_spec(name) is not None


def main():
    others = {}
    if installed("dp_accounting"):
        others["dp-accounting"] = google
    if installed("opacus"):
        others["Opacus PRV"] = opacus
    ours(*TABLE[0])  # imports and transform plans are not what is measured
    ratios = {name: [] for name in others}
    print(f"{'noise':>5} {'rate':>9} {'steps':>6} {'delta':>6}  accountants: epsilon, time")
    for row in TABLE:
        epsilon, seconds = timed(lambda row=row: ours(*row), REPEATS, forget)
        text = f"skdp {epsilon:.5f} {1e3 * seconds:.1f} ms"
        for name, accountant in others.items():
            theirs, their_seconds = timed(lambda row=row, ask=accountant: ask(*row))
            ratios[name].append(their_seconds / seconds)
            text += f" | {name} {theirs:.5f} {1e3 * their_seconds:.0f} ms"
            text += f" ({their_seconds / seconds:.0f} times; ours {epsilon / theirs - 1:+.3%})"
        print(f"{row[0]:5} {row[1]:9} {row[2]:6} {row[3]:6.0e}  {text}")
    for name, values in ratios.items():
        print(f"median ratio to {name}: {statistics.median(values):.0f}")

    noise, seconds = timed(
        lambda: calibrate_noise_multiplier(1.0, 1e-5, 0.08, 375), REPEATS, forget
    )
    print(f"calibration to epsilon 1: noise {noise:.4f} in {1e3 * seconds:.1f} ms")
    if installed("dp_accounting"):
        theirs, their_seconds = timed(google_calibration)
        print(f"  dp-accounting: {theirs:.4f} in {1e3 * their_seconds:.0f} ms", end="")
        print(f" ({their_seconds / seconds:.0f} times)")
    _, seconds = timed(lambda: calibrate_noise_multiplier(1.0, 1e-5, 0.08, 375), REPEATS)
    print(f"the same question again: {1e6 * seconds:.1f} microseconds")


if __name__ == "__main__":
    main()
