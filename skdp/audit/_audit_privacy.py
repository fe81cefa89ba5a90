"""audit_privacy: how much does this training really leak?

An accountant proves an upper bound on epsilon from what the code is meant to do. An audit plays the
adversary against what the code does, and turns the adversary's success into a lower bound. It can
show that a promise is broken; it can never show that one is kept.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from skdp.audit._attacks import Subject, attack_many_runs, attack_one_run
from skdp.exceptions import PrivacyWarning, shown
from skdp.linear_model import DPSGDClassifier
from skdp.mechanisms._noise import draw_seed
from skdp.privacy._mechanism import Mechanism
from skdp.privacy._promise import digits_up

__all__ = ["PrivacyAudit", "audit_privacy"]

_N_RUNS = 1000
# With less, the interval for guesses of different chances would not be one.
_LEAST_CONFIDENCE = 0.75


@dataclass(frozen=True)
class PrivacyAudit:
    """What an audit found.

    Its figures, and `scores_in` and `scores_out` above all, were computed from the rows without
    noise: no promise covers them. Keep them where the rows are kept.

    Parameters
    ----------
    epsilon_lower : float
        The training leaks at least this much at `delta`, with the stated confidence, if it is the
        claimed mechanism with its noise multiplied by some factor.
    epsilon_lower_unassuming : float
        The same for any training whatsoever; never above `epsilon_lower`.
    epsilon_claimed, delta : float
        The claim: `epsilon_` and `delta_` of a fit.
    confidence : float
        Chance, at least, that a true claim is not exceeded.
    method : {"one_run", "many_runs"}
        The attack.
    n_canaries : int
        Rows that were attacked.
    n_runs : int
        Trainings that were attacked, over both worlds.
    n_guesses, n_correct : int
        How often the adversary said "in" or "out", and how often they were right.
    false_alarm_rate, miss_rate : float
        Observed shares of scores above 0 where the canary was out, and of others where it was in,
        canaries on which the adversary abstained included.
    budget_used : float
        Length of the attacked gradients over the most that the clip allows, mean square root: 1
        for the strongest canaries.
    mechanisms : tuple
        The claimed releases.
    scores_in, scores_out : ndarray
        The adversary's log likelihood ratios for canaries that were in, and that were out; above 0
        they say "in".

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import DPSGDClassifier
    >>> from skdp.inspection import audit_privacy
    >>> X = np.random.default_rng(0).normal(size=(200, 20))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> audit = audit_privacy(DPSGDClassifier(epsilon=1.0), X, y, random_state=0)
    >>> audit.exceeds_claim
    False
    """

    epsilon_lower: float
    epsilon_lower_unassuming: float
    epsilon_claimed: float
    delta: float
    confidence: float
    method: str
    n_canaries: int
    n_runs: int
    n_guesses: int
    n_correct: int
    false_alarm_rate: float
    miss_rate: float
    budget_used: float
    mechanisms: tuple[Mechanism, ...]
    scores_in: np.ndarray = field(repr=False, compare=False)
    scores_out: np.ndarray = field(repr=False, compare=False)

    @property
    def exceeds_claim(self) -> bool:
        """Whether the lower bound is above the claim."""
        return self.epsilon_lower > self.epsilon_claimed

    def __str__(self) -> str:
        verdict = "ABOVE the claim" if self.exceeds_claim else "within the claim"
        attacked = (
            f"{self.n_canaries} canaries in one run"
            if self.method == "one_run"
            else f"one worst-case canary in {self.n_runs} runs"
        )
        return "\n".join(
            [
                f"shown: epsilon is at least {self.epsilon_lower:.3g}, {verdict} of "
                f"{self.epsilon_claimed:.3g}",
                f"  at delta {digits_up(self.delta)}, confidence {self.confidence:.9g}, if "
                "training is the claimed mechanism but for a factor on the noise",
                f"  at least {self.epsilon_lower_unassuming:.3g} whatever training is",
                f"  attacked: {attacked}; {self.n_correct} of {self.n_guesses} guesses were right",
                "  computed from the rows without noise: no promise covers these figures",
            ]
        )


def audit_privacy(
    estimator: DPSGDClassifier,
    X: ArrayLike,
    y: ArrayLike,
    *,
    method: str = "one_run",
    confidence: float = 0.99,
    n_canaries: int | str = "auto",
    n_runs: int | str = "auto",
    random_state: int | np.random.RandomState | None = None,
) -> PrivacyAudit:
    """Attack the training, and bound from below how much it leaks.

    Some rows are replaced by canaries, whose gradients the adversary knows. They see every iterate,
    know all other rows and which of them each batch held, and say which canaries took part. A
    canary that does not take part is masked: it contributes nothing to any release, and number of
    rows, plan and noise stay the same. That is the neighbour the promise is about, and the
    adversary is no stronger than the one it holds against.

    - "one_run": many canaries, each in or out by a fair coin, in one training [1]_ [2]_. Quick,
      and weak on small data: it may miss most of a leak.
    - "many_runs": one worst-case canary, deep in one class and labelled as another, in `n_runs`
      trainings with it and as many without [3]_. Close to the claim, at the price of the runs.

    The lower bound above the claim means, with the given confidence, that the promise is broken:
    of 100 audits at confidence 0.99 of a promise that holds, at most one is expected to say so.
    Below it, nothing is shown: the adversary may have been unlucky, or may have been clumsy.

    **The audit itself is not private.** It reads the rows without noise, so no promise covers what
    it returns. Run it to test the software, on data like your own or where the rows are kept.

    Parameters
    ----------
    estimator : DPSGDClassifier
        Is cloned, not fitted or changed; its `random_state` is not used.
    X : array-like or CSR of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Labels.
    method : {"one_run", "many_runs"}, default="one_run"
        The attack.
    confidence : float, default=0.99
        Chance, at least, that a true claim is not exceeded: at least 0.75.
    n_canaries : int or "auto", default="auto"
        Rows to replace. "auto" is as many as can be told apart under the claim, at most half of
        the rows; always one for "many_runs".
    n_runs : int or "auto", default="auto"
        Trainings with the canary, and as many without. "auto" is 1,000 for "many_runs"; always
        one for "one_run". At confidence 0.999999 and with full batches, 1,000 runs prove about 65 %
        of a claim of 4 and nothing of a claim of 1; 4,000 prove 80 % and 45 %.
    random_state : int, RandomState or None, default=None
        Of the canaries, the coins, and every training. None attacks the noise of the operating
        system's source, which is what a fit without `random_state` uses.

    Returns
    -------
    audit : PrivacyAudit
        The bounds, the claim, and what was observed.

    Raises
    ------
    TypeError
        Where `estimator` is no DPSGDClassifier, or of a subclass, whose own `fit` may release
        other things; transform the rows first to audit a pipeline's.
    ValueError
        Where a parameter or the data cannot be used.
    skdp.exceptions.PrivacyError
        A `ValueError`: training without noise claims nothing that could be audited.

    Warns
    -----
    skdp.exceptions.PrivacyWarning
        When the lower bound exceeds the claim.

    See Also
    --------
    AuditDisplay : Draws the adversary's errors against those that the claim allows.

    Notes
    -----
    `epsilon_lower_unassuming` is a bound for any training, from the number of right guesses: in
    one run by [1]_, Theorem 5.2, over many runs by an exact binomial interval for their mean
    chance. `epsilon_lower` assumes that what ran is the claimed mechanism with all its noise
    multiplied by one unknown factor, and refutes factors whose trade-off curve does not allow so
    many right guesses: by [2]_ in one run, by the curve's total variation distance over many.
    Where every row is in every step, that is the reading in Gaussian differential privacy of
    [3]_; where rows are sampled, that reading would be no bound, and the curve of the claim itself
    is used. A claim that holds is a member of the family, so it is exceeded with chance
    `1 - confidence` at most, assumption or none.

    The adversary's statistic is the log likelihood ratio of the path: for several canaries, the
    best linear estimate. Number of guesses and thresholds are set before the attack.

    References
    ----------
    .. [1] Steinke, Nasr and Jagielski (2023), "Privacy auditing with one (1) training run",
       arXiv:2305.08846.
    .. [2] Mahloujifar, Melis and Chaudhuri (2024), "Auditing f-differential privacy in one run",
       arXiv:2410.22235.
    .. [3] Nasr, Hayes, Steinke, Balle, Tramèr, Jagielski, Carlini and Terzis (2023), "Tight
       auditing of differentially private machine learning", arXiv:2302.07956.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import DPSGDClassifier
    >>> from skdp.inspection import audit_privacy
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> audit = audit_privacy(
    ...     DPSGDClassifier(epsilon=4.0), X, y, method="many_runs", n_runs=200, random_state=0
    ... )
    >>> bool(0.0 < audit.epsilon_lower <= audit.epsilon_claimed <= 4.0)
    True
    """
    _check_parameters(method, confidence, n_canaries, n_runs, random_state)
    subject = Subject(_checked_estimator(estimator), X, y, draw_seed(random_state))
    if method == "one_run":
        outcome = attack_one_run(subject, 1.0 - confidence, n_canaries)
    else:
        n_runs = _N_RUNS if n_runs == "auto" else int(n_runs)
        outcome = attack_many_runs(subject, 1.0 - confidence, n_runs)
    claim = subject.claim
    audit = PrivacyAudit(
        epsilon_claimed=claim.epsilon_,
        delta=claim.delta_,
        confidence=float(confidence),
        method=method,
        mechanisms=claim.mechanisms_,
        **outcome,
    )
    if audit.exceeds_claim:
        warnings.warn(
            f"the audit shows epsilon of at least {audit.epsilon_lower:.4g} where "
            f"{audit.epsilon_claimed:.4g} is claimed. With a promise that holds, this happens by "
            f"chance in at most {1.0 - confidence:.3g} of all audits (confidence "
            f"{confidence:.9g}): run it again with confidence=0.999999 before you conclude that "
            "the promise is broken, and publish nothing until then",
            PrivacyWarning,
            stacklevel=2,
        )
    return audit


def _checked_estimator(estimator: Any) -> DPSGDClassifier:
    if isinstance(estimator, Pipeline):
        raise TypeError(
            "audit_privacy audits a DPSGDClassifier, and estimator is a Pipeline: transform the "
            "rows with its other steps, which must learn nothing from them, and pass the last step "
            "with the transformed rows, audit_privacy(pipeline[-1], rows, y)"
        )
    owner = type(estimator).__name__
    if not isinstance(estimator, DPSGDClassifier):
        raise TypeError(
            f"estimator must be a DPSGDClassifier, got {owner}: audit_privacy attacks noisy "
            "gradient steps, and knows how those of this class are made"
        )
    if type(estimator) is not DPSGDClassifier:
        raise TypeError(
            f"estimator must be a DPSGDClassifier itself, and {owner} is a subclass, whose own fit "
            "may release other things than the audit attacks: audit the class it comes from"
        )
    # An audit is no fit that anything is promised about, so it is entered nowhere.
    return clone(estimator).set_params(budget=None)


def _check_parameters(
    method: Any, confidence: Any, n_canaries: Any, n_runs: Any, random_state: Any
) -> None:
    if not isinstance(method, str) or method not in ("one_run", "many_runs"):
        raise ValueError(f'method must be "one_run" or "many_runs", got {shown(method)}')
    if not isinstance(confidence, Real) or not _LEAST_CONFIDENCE <= float(confidence) < 1.0:
        raise ValueError(
            f"confidence must be at least {_LEAST_CONFIDENCE} and below 1, got {shown(confidence)}"
        )
    counts = {"n_canaries": n_canaries, "n_runs": n_runs}
    for name, value in counts.items():
        is_count = isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1
        is_auto = isinstance(value, str) and value == "auto"
        if not is_auto and not is_count:
            raise ValueError(
                f'{name} must be a whole number of at least 1 or "auto", got {shown(value)}'
            )
    single = "n_runs" if method == "one_run" else "n_canaries"
    if counts[single] not in ("auto", 1):
        other = "many_runs" if method == "one_run" else "one_run"
        raise ValueError(
            f"{single}={counts[single]!r} needs method={other!r}: method={method!r} has one"
        )
    is_seed = isinstance(random_state, Integral) and not isinstance(random_state, bool)
    if not (random_state is None or is_seed or isinstance(random_state, np.random.RandomState)):
        raise ValueError(
            f"random_state must be None, a whole number or a RandomState, got {shown(random_state)}"
        )
