"""TrainingPathDisplay: how good a model was after each epoch, and what it had cost by then."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from skdp.inspection._priced import (
    drawn_epsilon,
    is_without_noise,
    obstacles,
    one_delta,
    releases_to_draw,
)
from skdp.inspection._style import (
    add_legend,
    add_note,
    axes_for,
    by_name,
    check_choice,
    curve_style,
    delta_text,
    draw_spread,
    require_pyplot,
)
from skdp.linear_model._descent import stage_ends
from skdp.privacy import PrivacyStatement, SubsampledGaussian, get_epsilon
from skdp.privacy._promise import digits_up
from skdp.statement import privacy_statement

__all__ = ["StoredPath", "TrainingPathDisplay"]

_METRICS = {"accuracy": "Accuracy", "log_loss": "Log loss"}
_AXES = ("epoch", "epsilon")
# Stages that are drawn, at most: a price each, of some hundredths of a second.
_MOST_STAGES = 100


@dataclass(frozen=True)
class StoredPath:
    """The scores of the stages of one training, or of several with other noise.

    Parameters
    ----------
    n_steps : ndarray of shape (n_stages,)
        Steps taken at the end of each stage.
    epochs : ndarray of shape (n_stages,)
        Expected passes over the rows by then.
    scores : ndarray of shape (n_fits, n_stages)
        On the data that were given.
    statement : PrivacyStatement
        What one whole training promises.
    steps : SubsampledGaussian
        The release whose steps are counted.
    """

    n_steps: np.ndarray
    epochs: np.ndarray
    scores: np.ndarray
    statement: PrivacyStatement
    steps: SubsampledGaussian

    @property
    def mean(self) -> np.ndarray:
        """Mean score of each stage over the fits."""
        return self.scores.mean(axis=0)

    @property
    def spread(self) -> np.ndarray | None:
        """Standard deviation of each stage's score over the fits; None for a single one."""
        return self.scores.std(axis=0) if len(self.scores) > 1 else None

    def epsilons(self) -> np.ndarray:
        """What each stage costs that was fixed in advance, shape (n_stages,)."""
        others = list(releases_to_draw(self.statement))
        others.remove(self.steps)
        stages = [replace(self.steps, n_steps=int(n)) for n in self.n_steps]
        delta = one_delta([self.statement])
        return np.array([get_epsilon((*others, stage), delta) for stage in stages])


class TrainingPathDisplay:
    """Drawing of the stored path: accuracy or loss against epochs, or against epsilon so far.

    A stage is the model that training would have returned after so many epochs. One that is fixed
    in advance costs what the releases up to there cost. Whoever looks at several stages and takes
    one has used the whole path, and pays for all of it; the note below the drawing says so. Where
    the scores come from rows that are private themselves, not even that covers the
    choice, and the drawing itself shows figures that no promise covers. Take rows that are public.

    Made by `from_estimator`, from classifiers fitted with `store_path=True`.

    Parameters
    ----------
    paths : dict of str to StoredPath
        One a curve.
    metric : {"accuracy", "log_loss"}
        What was scored.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure around it.
    lines_ : dict of str to matplotlib Line2D
        For each curve, the mean over its fits.
    bands_ : dict of str to matplotlib PolyCollection or None
        For each curve, one standard deviation over its fits to both sides; None for a single fit.
    note_ : matplotlib Annotation or None
        What a stage costs; None where no curve has any privacy.

    See Also
    --------
    skdp.DPSGDClassifier.staged_predict : Predictions after each epoch.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import DPSGDClassifier
    >>> from skdp.inspection import TrainingPathDisplay
    >>> X = np.random.default_rng(0).normal(size=(400, 2))
    >>> y = X[:, 0] > 0
    >>> fits = [
    ...     DPSGDClassifier(noise_multiplier=2.0, store_path=True, random_state=seed).fit(
    ...         X[:300], y[:300]
    ...     )
    ...     for seed in range(3)
    ... ]
    >>> display = TrainingPathDisplay.from_estimator(
    ...     {"noise 2": fits}, X[300:], y[300:], against="epsilon"
    ... )
    >>> bool(display.lines_["noise 2"].get_xdata()[-1] == fits[0].epsilon_)
    True
    """

    def __init__(self, paths: dict[str, StoredPath], *, metric: str):
        self.paths = paths
        self.metric = metric

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike,
        *,
        metric: str = "accuracy",
        against: str = "epoch",
        ax: Any = None,
        line_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Score every stage of fitted classifiers, and draw.

        Parameters
        ----------
        estimator : fitted estimator, list of them, or dict of str to either
            Classifiers fitted with `store_path=True`, or pipelines that end in one. A list is one
            training with several seeds: mean and spread are drawn. A dict has one entry a curve.
        X : array-like or CSR of shape (n_samples, n_features)
            Rows to score on.
        y : array-like of shape (n_samples,)
            Their labels.
        metric : {"accuracy", "log_loss"}, default="accuracy"
            What to draw.
        against : {"epoch", "epsilon"}, default="epoch"
            As for `plot`.
        ax : matplotlib Axes, default=None
            As for `plot`.
        line_kw : dict, default=None
            As for `plot`.

        Returns
        -------
        display : TrainingPathDisplay
            With the drawing.

        Raises
        ------
        ValueError
            Where an estimator kept no path, or fits of one list differ in more than their noise.
        skdp.exceptions.PrivacyError
            With `against="epsilon"`, where no promise covers all of a fit: it has no epsilon.
        """
        require_pyplot(cls.__name__)
        check_choice("metric", metric, _METRICS)
        check_choice("against", against, _AXES)
        curves = by_name(estimator, lambda fits: type(_as_list(fits)[0]).__name__)
        paths = {
            name: _stored_path(name, _as_list(fits), X, y, metric) for name, fits in curves.items()
        }
        return cls(paths, metric=metric).plot(ax=ax, against=against, line_kw=line_kw)

    def plot(
        self, ax: Any = None, *, against: str = "epoch", line_kw: dict[str, Any] | None = None
    ) -> Self:
        """Draw.

        Curves of trainings without noise have no epsilon; against it they are level lines, at what
        the whole training reached.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure. A figure made with `layout="constrained"`
            has room for the note below the axis.
        against : {"epoch", "epsilon"}, default="epoch"
            What the x axis shows.
        line_kw : dict, default=None
            Arguments of `ax.plot` for the curves.

        Returns
        -------
        self : TrainingPathDisplay
            With the drawing.

        Raises
        ------
        skdp.exceptions.PrivacyError
            With `against="epsilon"`, where a curve has no promise.
        """
        check_choice("against", against, _AXES)
        statements = [path.statement for path in self.paths.values()]
        delta = one_delta(statements) if against == "epsilon" else None
        places = {
            name: path.epochs if against == "epoch" else path.epsilons()
            for name, path in self.paths.items()
        }
        ax = axes_for(self, ax)
        self.lines_, self.bands_ = {}, {}
        for index, (name, path) in enumerate(self.paths.items()):
            style = {**curve_style(ax, index), "label": _with_cost(name, path), **(line_kw or {})}
            if np.isfinite(places[name]).all():
                line, self.bands_[name] = draw_spread(
                    ax, places[name], path.mean, path.spread, style
                )
            else:
                style |= {"linestyle": "--", "marker": ""}
                line, self.bands_[name] = ax.axhline(path.mean[-1], **style), None
            self.lines_[name] = line
        ax.set(
            xlabel="Epochs" if against == "epoch" else f"Epsilon spent so far{delta_text(delta)}",
            ylabel=_METRICS[self.metric],
        )
        self.note_ = self._write_note(ax, against)
        add_legend(ax, title=self._legend_title())
        return self

    def _legend_title(self) -> str | None:
        counts = {len(path.scores) for path in self.paths.values()} - {1}
        if not counts:
            return None
        number = f"{counts.pop()} " if len(counts) == 1 else ""
        return f"mean and std. dev. of {number}fits"

    def _write_note(self, ax: Any, against: str) -> Any:
        if all(math.isinf(drawn_epsilon(path.statement)) for path in self.paths.values()):
            return None
        fixed = (
            "A stage fixed in advance costs what the axis says."
            if against == "epsilon"
            else "A stage fixed in advance costs less than the whole path."
        )
        return add_note(ax, f"{fixed} Choosing one by looking costs the whole path.")


def _stored_path(name: str, fits: list[Any], X: Any, y: Any, metric: str) -> StoredPath:
    last_steps = [_last_step(name, fitted) for fitted in fits]
    first = last_steps[0]
    statements = [privacy_statement(fitted) for fitted in fits]
    if len({_apart_from_noise(statement) for statement in statements}) > 1:
        raise ValueError(
            f"{name}: fits of one curve may differ in their noise only, and these differ in what "
            "they released; give a dict, with an entry for each kind"
        )
    ends = np.array(stage_ends(first.n_steps_, first.sample_rate_))
    shown = np.unique(np.linspace(0, len(ends) - 1, min(len(ends), _MOST_STAGES)).round())
    shown = shown.astype(np.int64)
    return StoredPath(
        n_steps=ends[shown],
        epochs=ends[shown] * first.sample_rate_,
        scores=np.array([_stage_scores(fitted, X, y, metric)[shown] for fitted in fits]),
        statement=statements[0],
        steps=first.mechanisms_[-1],
    )


def _apart_from_noise(statement: PrivacyStatement) -> tuple[Any, ...]:
    """What fits of one curve have in common."""
    return statement.subject, statement.mechanisms, statement.delta, obstacles(statement)


def _last_step(name: str, fitted: Any) -> Any:
    last = fitted
    while isinstance(last, Pipeline):
        last = last[-1]
    check_is_fitted(last)
    if not hasattr(last, "staged_predict") or not hasattr(last, "coef_path_"):
        raise ValueError(
            f"{name}: {type(last).__name__} kept no path; fit a DPSGDClassifier with "
            "store_path=True, or a pipeline that ends in one"
        )
    return last


def _stage_scores(fitted: Any, X: Any, y: Any, metric: str) -> np.ndarray:
    # Whoever asks for a statement alone need not wait for these.
    from sklearn.metrics import accuracy_score, log_loss

    while isinstance(fitted, Pipeline):
        if len(fitted) > 1:
            X = fitted[:-1].transform(X)
        fitted = fitted[-1]
    if metric == "accuracy":
        scores = [accuracy_score(y, labels) for labels in fitted.staged_predict(X)]
    else:
        classes = fitted.classes_
        scores = [log_loss(y, p, labels=classes) for p in fitted.staged_predict_proba(X)]
    return np.array(scores, dtype=np.float64)


def _as_list(fits: Any) -> list[Any]:
    if not isinstance(fits, list | tuple):
        return [fits]
    if not fits:
        raise ValueError("estimator is or has an empty list; give at least one fit a curve")
    return list(fits)


def _with_cost(name: str, path: StoredPath) -> str:
    if obstacles(path.statement) and not is_without_noise(path.statement):
        return f"{name} (no promise)"
    return f"{name} (epsilon {digits_up(drawn_epsilon(path.statement))})"
