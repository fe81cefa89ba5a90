"""PrivacyAccuracyDisplay: what accuracy is to be had at which epsilon."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import indexable
from sklearn.utils.parallel import Parallel, delayed

from skdp.exceptions import shown
from skdp.inspection._priced import drawn_epsilon, obstacles, random_states
from skdp.inspection._style import (
    BLACK,
    GREY,
    add_legend,
    add_note,
    axes_for,
    by_name,
    curve_style,
    delta_text,
    draw_spread,
    leave_room_above,
    require_pyplot,
)
from skdp.privacy import PrivacyStatement
from skdp.privacy._mechanism import check_budget, check_count
from skdp.statement import privacy_statement

__all__ = ["PrivacyAccuracyDisplay"]

_EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
# More ticks than this, or nearer ones (in logarithms), would meet on narrow axes.
_MOST_TICKS = 7
_LEAST_GAP = 0.4


class PrivacyAccuracyDisplay:
    """Drawing of accuracy against epsilon, between no privacy and no model.

    Every estimator is fitted anew at each epsilon, several times with fresh noise. The line is the
    mean, the band one standard deviation over the repeats. Above stands what is reached without
    privacy, below what the most frequent class alone reaches.

    The scores are computed from rows without noise, and no promise covers them: draw it of rows
    that are public, or keep it where the rows are kept. To choose epsilon by it is to choose by
    looking.

    Made by `from_estimator`.

    Parameters
    ----------
    epsilons : dict of str to ndarray of shape (n_epsilons,)
        For each estimator, what its fits cost.
    scores : dict of str to ndarray of shape (n_epsilons, n_repeats, n_splits)
        For each estimator, the score of every fit.
    score_name : str
        What was scored, as the y axis says it.
    delta : float or None, default=None
        What may be added to a probability beyond the factor exp(epsilon), where all fits have the
        same.
    not_covered : dict of str to str, default=None
        For each estimator without a promise, what looked at the rows. Its epsilon is only what was
        asked for.
    non_private_score, majority_score : float or None, default=None
        The levels without privacy, and without a model.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure around it.
    lines_ : dict of str to matplotlib Line2D
        For each estimator, its mean.
    bands_ : dict of str to matplotlib PolyCollection or None
        For each estimator, one standard deviation over the repeats to both sides; None without
        repeats.
    non_private_line_, majority_line_ : matplotlib Line2D or None
        The levels.
    note_ : matplotlib Annotation or None
        Which estimators have no promise; None where all have one.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import DPSGDClassifier
    >>> from skdp.inspection import PrivacyAccuracyDisplay
    >>> X = np.random.default_rng(0).normal(size=(400, 2))
    >>> y = X[:, 0] > 0
    >>> display = PrivacyAccuracyDisplay.from_estimator(
    ...     DPSGDClassifier(), X[:300], y[:300], X_test=X[300:], y_test=y[300:],
    ...     epsilons=[0.1, 1.0, 10.0], n_repeats=3, random_state=0,
    ... )
    >>> display.scores["DPSGDClassifier"].shape
    (3, 3, 1)
    >>> display.ax_.get_xlabel()
    'Epsilon at delta 1e-05'
    """

    def __init__(
        self,
        *,
        epsilons: dict[str, np.ndarray],
        scores: dict[str, np.ndarray],
        score_name: str,
        delta: float | None = None,
        not_covered: dict[str, str] | None = None,
        non_private_score: float | None = None,
        majority_score: float | None = None,
    ):
        self.epsilons = epsilons
        self.scores = scores
        self.score_name = score_name
        self.delta = delta
        self.not_covered = not_covered
        self.non_private_score = non_private_score
        self.majority_score = majority_score

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike,
        *,
        epsilons: Sequence[float] = _EPSILONS,
        param_name: str = "auto",
        X_test: ArrayLike | None = None,
        y_test: ArrayLike | None = None,
        cv: Any = None,
        scoring: Any = "accuracy",
        n_repeats: int = 5,
        non_private: Any = "auto",
        random_state: int | None = None,
        n_jobs: int | None = None,
        ax: Any = None,
        line_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Fit clones at every epsilon, score them on rows they have not seen, and draw.

        Parameters
        ----------
        estimator : estimator or dict of str to estimator
            Is cloned, not fitted or changed. A dict has one entry a curve.
        X : array-like or CSR of shape (n_samples, n_features)
            Rows to fit on, and with `cv` to score on.
        y : array-like of shape (n_samples,)
            Their labels.
        epsilons : sequence of float, default=(0.1, 0.3, 1.0, 3.0, 10.0)
            Budgets. Where a fit costs more than its budget, since a pipeline holds other noisy
            steps, it is drawn at what it costs.
        param_name : str, default="auto"
            The parameter that takes epsilon, such as "clf__epsilon". "auto" is "epsilon", or that
            of a pipeline's last step.
        X_test, y_test : array-like, default=None
            Rows held out, and their labels, to score on.
        cv : int, splitter or iterable, default=None
            How to split `X` where nothing is held out; None is five stratified folds. The band is
            the spread over repeats within a fold.
        scoring : str or callable, default="accuracy"
            What to draw, as for scikit-learn's `cross_val_score`.
        n_repeats : int, default=5
            Fits of one kind, with different noise.
        non_private : estimator, "auto" or None, default="auto"
            What to fit for the level without privacy. "auto" is scikit-learn's
            `LogisticRegression`, behind the same steps as the first estimator.
        random_state : int or None, default=None
            Every `random_state` in a clone becomes an integer derived from it, another for each
            fit. None clears them: noise from the operating system, and no repetition.
        n_jobs : int or None, default=None
            Fits at the same time.
        ax : matplotlib Axes, default=None
            As for `plot`.
        line_kw : dict, default=None
            As for `plot`.

        Returns
        -------
        display : PrivacyAccuracyDisplay
            With the drawing.

        Raises
        ------
        ValueError
            Where a parameter cannot be used, or the estimator has no parameter for epsilon.
        """
        # Whoever asks for a statement alone need not wait for these.
        from sklearn.dummy import DummyClassifier
        from sklearn.metrics import get_scorer

        require_pyplot(cls.__name__)
        estimators = by_name(estimator, lambda one: type(one).__name__)
        budgets = sorted(check_budget(epsilon) for epsilon in epsilons)
        n_repeats = check_count("n_repeats", n_repeats)
        plain = _non_private(non_private, next(iter(estimators.values())))
        rng = _generator(random_state)
        splits = _splits(X, y, X_test, y_test, cv)
        scorer = get_scorer(scoring)
        outcomes = Parallel(n_jobs=n_jobs)(
            delayed(_fit_and_score)(_reseeded(clone(each), rng), split, scorer)
            for each in _at_budgets(estimators.values(), budgets, param_name)
            for _ in range(n_repeats)
            for split in splits
        )
        shape = (len(estimators), len(budgets), n_repeats, len(splits))
        scores = np.array([score for score, _ in outcomes]).reshape(shape)
        stated = [statement for _, statement in outcomes]
        deltas = {statement.delta for statement in stated}
        return cls(
            epsilons=dict(zip(estimators, _spent(budgets, stated, shape), strict=True)),
            scores=dict(zip(estimators, scores, strict=True)),
            score_name=_score_name(scoring),
            delta=deltas.pop() if len(deltas) == 1 else None,
            not_covered=_not_covered(list(estimators), stated),
            non_private_score=_level(plain, splits, scorer),
            majority_score=_level(DummyClassifier(strategy="prior"), splits, scorer),
        ).plot(ax=ax, line_kw=line_kw)

    def plot(self, ax: Any = None, *, line_kw: dict[str, Any] | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure. A figure made with `layout="constrained"`
            has room for the note below the axis.
        line_kw : dict, default=None
            Arguments of `ax.plot` for the curves.

        Returns
        -------
        self : PrivacyAccuracyDisplay
            With the drawing.
        """
        ax = axes_for(self, ax)
        self.lines_, self.bands_ = {}, {}
        for index, (name, scores) in enumerate(self.scores.items()):
            # Every point is a measurement, so every point is marked.
            style = {**curve_style(ax, index), "markevery": 1, "label": name, **(line_kw or {})}
            # Within a split, so that easy and hard folds do not pass for noise.
            spread = np.sqrt(scores.var(axis=1).mean(axis=1)) if scores.shape[1] > 1 else None
            self.lines_[name], self.bands_[name] = draw_spread(
                ax, self.epsilons[name], scores.mean(axis=(1, 2)), spread, style
            )
        self.non_private_line_ = _draw_level(
            ax, self.non_private_score, color=BLACK, linestyle="--", label="no privacy"
        )
        self.majority_line_ = _draw_level(
            ax, self.majority_score, color=GREY, linestyle=":", label="most frequent class"
        )
        what = "Epsilon asked for" if self.not_covered else "Epsilon"
        ax.set(xscale="log", xlabel=f"{what}{delta_text(self.delta)}", ylabel=self.score_name)
        _label_ticks(ax, np.unique(np.concatenate(list(self.epsilons.values()))))
        self.note_ = None
        if self.not_covered:
            who = "; ".join(f"{name} ({gap})" for name, gap in self.not_covered.items())
            self.note_ = add_note(ax, f"No promise holds for {who}.")
        n_repeats = next(iter(self.scores.values())).shape[1]
        title = f"mean and std. dev. of {n_repeats} fits" if n_repeats > 1 else None
        n_lines = len(ax.get_legend_handles_labels()[1]) + (title is not None)
        leave_room_above(ax, n_lines)
        add_legend(ax, title=title, loc="upper left")
        return self


class _Split(NamedTuple):
    """Rows to fit on and rows to score on."""

    X: Any
    y: Any
    X_test: Any
    y_test: Any


def _splits(X: Any, y: Any, X_test: Any, y_test: Any, cv: Any) -> list[_Split]:
    from sklearn.model_selection import check_cv

    if (X_test is None) != (y_test is None):
        raise ValueError("X_test and y_test go together: give both of them, or neither")
    if X_test is not None:
        if cv is not None:
            raise ValueError(f"cv={shown(cv)} splits X, and X_test is held out already: give one")
        return [_Split(X, y, X_test, y_test)]
    X, y = indexable(X, y)
    return [
        _Split(_take(X, train), _take(y, train), _take(X, test), _take(y, test))
        for train, test in check_cv(cv, y, classifier=True).split(X, y)
    ]


def _take(data: Any, rows: np.ndarray) -> Any:
    if hasattr(data, "iloc"):
        return data.iloc[rows]
    if hasattr(data, "shape"):
        return data[rows]
    return [data[row] for row in rows]


def _at_budgets(estimators: Any, budgets: list[float], param_name: str) -> Any:
    """Clones of every estimator, one for each budget."""
    for estimator in estimators:
        name = _epsilon_name(estimator, param_name)
        for budget in budgets:
            yield clone(estimator).set_params(**{name: budget})


def _epsilon_name(estimator: Any, param_name: str) -> str:
    if param_name == "auto":
        param_name, last = "epsilon", estimator
        while isinstance(last, Pipeline):
            param_name = param_name.removesuffix("epsilon") + f"{last.steps[-1][0]}__epsilon"
            last = last[-1]
    if param_name not in estimator.get_params(deep=True):
        raise ValueError(
            f"{type(estimator).__name__} has no parameter {shown(param_name)} to set epsilon by: "
            "name it, param_name=..."
        )
    return param_name


def _generator(random_state: int | None) -> np.random.Generator | None:
    if random_state is None:
        return None
    if isinstance(random_state, bool) or not isinstance(random_state, Integral):
        raise ValueError(f"random_state must be None or a whole number, got {shown(random_state)}")
    return np.random.default_rng(int(random_state))


def _reseeded(estimator: Any, rng: np.random.Generator | None) -> Any:
    """Give every part of a clone a seed of its own, or none at all."""
    names = random_states(estimator)
    seeds = {name: None if rng is None else int(rng.integers(2**31)) for name in names}
    return estimator.set_params(**seeds) if seeds else estimator


def _fit_and_score(estimator: Any, split: _Split, scorer: Any) -> tuple[float, PrivacyStatement]:
    fitted = estimator.fit(split.X, split.y)
    return float(scorer(fitted, split.X_test, split.y_test)), privacy_statement(fitted)


def _spent(
    budgets: list[float], stated: list[PrivacyStatement], shape: tuple[int, ...]
) -> np.ndarray:
    """What the most costly fit cost, shape (n_estimators, n_epsilons); at least the budget.

    A budget bounds what the last step costs; what a pipeline spends beside it counts too. Over a
    gap nothing but the budget is known, and the drawing says so.
    """
    epsilons = np.array([drawn_epsilon(statement) for statement in stated])
    known = np.where(np.isfinite(epsilons), epsilons, 0.0)
    return np.maximum(budgets, known.reshape(shape).max(axis=(2, 3)))


def _not_covered(names: list[str], stated: list[PrivacyStatement]) -> dict[str, str]:
    """For each estimator without a promise, what looked at the rows."""
    n_fits = len(stated) // len(names)
    found = {}
    for index, name in enumerate(names):
        fits = stated[index * n_fits : (index + 1) * n_fits]
        gaps = dict.fromkeys(gap.name for fit in fits for gap in obstacles(fit))
        if gaps:
            found[name] = ", ".join(gaps)
    return found


def _score_name(scoring: Any) -> str:
    name = scoring if isinstance(scoring, str) else getattr(scoring, "__name__", "score")
    return name.replace("_", " ").capitalize()


def _non_private(non_private: Any, first: Any) -> Any:
    if not isinstance(non_private, str):
        return non_private
    if non_private != "auto":
        raise ValueError(
            f'non_private must be an estimator, "auto" or None, got {shown(non_private)}'
        )
    from sklearn.linear_model import LogisticRegression

    plain = LogisticRegression(max_iter=1000)
    if not isinstance(first, Pipeline):
        return plain
    return clone(first).set_params(**{first.steps[-1][0]: plain})


def _level(estimator: Any, splits: list[_Split], scorer: Any) -> float | None:
    if estimator is None:
        return None
    fitted = [(clone(estimator).fit(split.X, split.y), split) for split in splits]
    return float(np.mean([scorer(one, split.X_test, split.y_test) for one, split in fitted]))


def _draw_level(ax: Any, score: float | None, **style: Any) -> Any:
    return None if score is None else ax.axhline(score, linewidth=1.2, **style)


def _label_ticks(ax: Any, epsilons: np.ndarray) -> None:
    """Write the epsilons themselves where they are few and far between."""
    if len(epsilons) <= _MOST_TICKS and np.all(np.diff(np.log(epsilons)) > _LEAST_GAP):
        ax.set_xticks(epsilons, labels=[f"{epsilon:.3g}" for epsilon in epsilons])
        ax.set_xticks([], minor=True)
