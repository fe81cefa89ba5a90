"""Record and play: one fit on neighbouring data, with the same randomness, down to every release.

A correct private fit on two neighbours drifts apart, since each step starts from what the steps
before it released. So the first run is recorded, and in the second run every release returns what
the first one released, while the sum that it would have released is kept. Then the sums differ by
what one row adds, at most their sensitivity, and everything else that leaves is equal.

The neighbour is the same table with some rows left out *inside the trusted code*: they are never
drawn and never counted, and n stays. What stands in their place in the table must then not matter,
so it may be replaced by anything. (Replacing a row without leaving it out would allow the sums to
move by twice the sensitivity, and would hide a factor of 2.)

`record` knows no estimator. It looks in two places that every private fit passes:

- `NoisyReleases.add_noise`, where a clean sum goes in and a release comes out. What a mistake
  further out does to a release is therefore not hidden: it has the data, and the played release
  does not, so the fitted attributes come out different.
- `random_source`, where every stream of randomness is opened.

How rows are left out is one function for each way into the trusted code; see `LEAVE_OUT`, to which
a new kind of release adds its own.

For a new estimator::

    first = record(lambda: Estimator().fit(X, y))
    other = record(lambda: Estimator().fit(X_with_another_row_7, y), left_out=[7], play=first)
    assert_moved_within_sensitivity(first, other)
    assert_equal_to_everyone(first, other)
    assert_noise_as_priced(first)
    assert_equal_to_everyone(first, record(lambda: Estimator().fit(blank, y), play=first))
"""

import contextlib
import dataclasses
import io
import secrets
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from skdp.mechanisms import _noise
from skdp.mechanisms._noise import RandomSource
from skdp.mechanisms._release import ROUNDING_SHARE, NoisyReleases, grid_spacing
from skdp.mechanisms._sampling import Block

__all__ = [
    "LEAVE_OUT",
    "Recording",
    "Release",
    "Series",
    "assert_equal_to_everyone",
    "assert_moved_within_sensitivity",
    "assert_noise_as_priced",
    "difference",
    "record",
]


@dataclasses.dataclass(frozen=True)
class Release:
    """One noisy release.

    Parameters
    ----------
    clean : ndarray
        The sum that was handed in, before rounding and noise.
    value : ndarray
        What came out.
    left_out : int
        How many of the rows to leave out may have a part in this release.
    """

    clean: np.ndarray
    value: np.ndarray
    left_out: int


@dataclasses.dataclass
class Series:
    """The releases of one `NoisyReleases`, in their order.

    Parameters
    ----------
    sensitivity, noise_scale : float
        What it was opened with.
    source : TapedSource
        Where its noise came from.
    left_out : sequence of int
        For each release, how many rows were left out; may still grow while the fit runs.
    releases : list of Release
        What it released.
    """

    sensitivity: float
    noise_scale: float
    source: "TapedSource"
    left_out: Sequence[int]
    releases: list[Release] = dataclasses.field(default_factory=list)


class TapedSource:
    """A source of randomness that keeps what it gave.

    Parameters
    ----------
    names : tuple of str
        Whose stream it is.
    source : RandomSource
        Where the draws come from.
    n_parts : int
        How many of them are added up for one draw of noise.
    """

    def __init__(self, names: tuple[str, ...], source: RandomSource, n_parts: int):
        self.names = names
        self.n_parts = n_parts
        self._source = source
        self.normal_draws: list[np.ndarray] = []
        self.exponential_draws: list[int] = []

    def normal(self, shape: tuple[int, ...]) -> np.ndarray:
        """Normal draws, kept as they are."""
        draws = self._source.normal(shape)
        self.normal_draws.append(draws.copy())
        return draws

    def exponential(self, size: int) -> np.ndarray:
        """Exponential draws, of which the number is kept."""
        self.exponential_draws.append(size)
        return self._source.exponential(size)

    def noise_vectors(self, size: int) -> np.ndarray:
        """Standard normal vectors, one a release, as the draws make them up."""
        parts = self.normal_draws
        assert len(parts) % self.n_parts == 0, "a draw of noise lacks a part"
        sums = [
            sum(parts[first : first + self.n_parts]) / np.sqrt(self.n_parts)
            for first in range(0, len(parts), self.n_parts)
        ]
        return np.concatenate([vectors.ravel() for vectors in sums] or [[]]).reshape(-1, size)


@dataclasses.dataclass
class Recording:
    """A fit, seen from where it releases.

    Parameters
    ----------
    series : list of Series
        Releases, by name and in the order in which the names were opened.
    sources : list of TapedSource
        Every stream that was opened.
    state : dict or None
        All that stands on the fitted estimator; None where the fit failed.
    mechanisms : list of mechanisms, or None
        What the estimator says that it released.
    error : list of (str, str)
        Type and text of the error and of those that it drags along.
    said : list of (str, str)
        Category and text of the warnings, and what was printed.
    """

    series: list[Series] = dataclasses.field(default_factory=list)
    sources: list[TapedSource] = dataclasses.field(default_factory=list)
    state: dict[str, Any] | None = None
    mechanisms: list[Any] | None = None
    error: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    said: list[tuple[str, str]] = dataclasses.field(default_factory=list)


def record(
    fit: Callable[[], Any], *, left_out: Sequence[int] = (), play: Recording | None = None
) -> Recording:
    """Run a fit and record it.

    Parameters
    ----------
    fit : callable
        Takes nothing and returns the fitted estimator.
    left_out : sequence of int
        Rows that contribute nothing to any release; units, as they are numbered, where rows are
        grouped into units.
    play : Recording or None
        An earlier run: each release returns what the same release returned there.

    Raises
    ------
    AssertionError
        Where rows reach a release in a way that `LEAVE_OUT` does not know, or where there are
        more releases, or other ones, than those to play.
    """
    recorder = _Recorder(np.asarray(left_out, dtype=np.int64), play)
    printed = io.StringIO()
    with (
        pytest.MonkeyPatch.context() as patch,
        warnings.catch_warnings(record=True) as caught,
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(printed),
    ):
        warnings.simplefilter("always")
        recorder.listen(patch)
        recorder.run(fit)
    recording = recorder.recording
    recording.said = [(w.category.__name__, str(w.message)) for w in caught]
    recording.said.append(("printed", printed.getvalue()))
    return recording


def assert_equal_to_everyone(one: Recording, other: Recording) -> None:
    """All that can be seen from outside is equal: only clean sums may tell the two runs apart.

    That is every attribute to the last bit, errors, warnings, what was printed, how many releases
    of which shape, and how much randomness was asked for.
    """
    for name, seen in _visible(one).items():
        found = difference(seen, _visible(other)[name], name)
        assert found is None, f"what leaves depends on the rows: {found}"


def assert_moved_within_sensitivity(
    one: Recording, other: Recording, *, arithmetic: float = 1e-9
) -> None:
    """Between a run and its neighbour, no release moves further than the accountant believes.

    The accountant's sensitivity is the noise that was added over the multiplier that was priced.
    Of that, `ROUNDING_SHARE` is for rounding: before it, the sums are held to the rest. A release
    moves by that much for each row that was left out of it, and otherwise not at all.

    Parameters
    ----------
    one, other : Recording
        The first run, and the one that played it and left rows out.
    arithmetic : float
        What the rounding of a row's own contribution may add before the grid, relative to the
        sensitivity. Part of `ROUNDING_SHARE`, so at most 3.8e-5.
    """
    made = [[len(series.releases) for series in run.series] for run in (one, other)]
    assert made[0] == made[1], f"the two runs made {made[0]} and {made[1]} releases"
    for series, neighbour, mechanism in zip(one.series, other.series, _priced(one), strict=True):
        rounding = ROUNDING_SHARE * series.sensitivity
        of_a_row = series.noise_scale / mechanism.noise_multiplier - rounding
        for release, moved in zip(series.releases, neighbour.releases, strict=True):
            bound = moved.left_out * of_a_row
            before = np.linalg.norm(release.clean - moved.clean)
            # The noise is the same in both runs, so this is exactly what rounded sums differ by.
            after = np.linalg.norm(release.value - moved.value)
            assert before <= bound + arithmetic * (bound + of_a_row), (
                f"a sum moved by {before:.12g}, more than its sensitivity of {bound:.12g}"
            )
            assert after <= bound + rounding + 1e-9 * (bound + of_a_row), (
                f"a release moved by {after:.12g}, more than {bound + rounding:.12g}"
            )


def assert_noise_as_priced(recording: Recording) -> None:
    """Each priced release was made, with fresh noise in every coordinate, and no other one was.

    The noise is the source's draws times one scale, up to the rounding to the grid, which every
    release is on; each draw is used once, and streams are not shared.
    """
    names = [source.names for source in recording.sources]
    assert len(set(names)) == len(names), f"a stream was opened twice: {names}"
    for series, mechanism in zip(recording.series, _priced(recording), strict=True):
        n_steps = getattr(mechanism, "n_steps", 1)
        assert len(series.releases) == n_steps, (
            f"{len(series.releases)} releases were made and {n_steps} are priced"
        )
        assert mechanism.noise_multiplier > 0.0, "a release is priced as one without noise"
        values = np.array([release.value for release in series.releases])
        spacings = values / grid_spacing(series.sensitivity, values.shape[1])
        assert (spacings == np.rint(spacings)).all(), "a release is off the public grid"
        noise = values - np.array([release.clean for release in series.releases])
        drawn = series.source.noise_vectors(noise.shape[1])
        assert drawn.shape == noise.shape, (
            f"noise was drawn for {drawn.shape} numbers and {noise.shape} were released"
        )
        assert len(np.unique(drawn)) == drawn.size, "a draw of noise is used twice"
        off = np.abs(noise - series.noise_scale * drawn).max()
        assert off <= ROUNDING_SHARE * series.sensitivity, (
            f"the noise of some coordinate is not its draw times the scale: off by {off:.3g}"
        )


def difference(one: Any, other: Any, place: str = "") -> str | None:
    """Where two values first differ, to the last bit; None where they do not."""
    if type(one) is not type(other):
        return f"{place}: {type(one).__name__} and {type(other).__name__}"
    if dataclasses.is_dataclass(one):
        one, other = vars(one), vars(other)
    if isinstance(one, dict):
        if list(one) != list(other):
            return f"{place}: names {list(one)} and {list(other)}"
        pairs = [(f"{place}.{key}", one[key], other[key]) for key in one]
    elif isinstance(one, list | tuple):
        if len(one) != len(other):
            return f"{place}: {len(one)} and {len(other)} of them"
        pairs = [(f"{place}[{i}]", *pair) for i, pair in enumerate(zip(one, other, strict=True))]
    else:
        return None if _bits(one) == _bits(other) else f"{place}: {one!r} and {other!r}"
    found = (difference(a, b, where) for where, a, b in pairs)
    return next((where for where in found if where), None)


def _priced(recording: Recording) -> list[Any]:
    """The mechanism of each series, as the estimator states them."""
    assert not recording.error, f"the fit failed: {recording.error}"
    assert len(recording.series) == len(recording.mechanisms), (
        f"{len(recording.series)} series of releases were made and "
        f"{len(recording.mechanisms)} mechanisms are priced"
    )
    return recording.mechanisms


def _visible(recording: Recording) -> dict[str, Any]:
    """What an onlooker sees of a fit."""
    return {
        "error": recording.error,
        "said": recording.said,
        "releases": [
            (s.sensitivity, s.noise_scale, s.source.names, [r.value.shape for r in s.releases])
            for s in recording.series
        ],
        "randomness": [
            (s.names, [draws.shape for draws in s.normal_draws], s.exponential_draws)
            for s in recording.sources
        ],
        "mechanisms": recording.mechanisms,
        "state": recording.state,
    }


class _Recorder:
    """Listens to the releases while a fit runs."""

    def __init__(self, rows: np.ndarray, play: Recording | None):
        self.rows = rows
        self.recording = Recording()
        self._to_play = None if play is None else [list(s.releases) for s in play.series]
        # What the next series leaves out of each of its releases, as the way in has announced it.
        self._announced: Sequence[int] | None = None
        self._series_of: dict[int, tuple[NoisyReleases, int]] = {}

    def run(self, fit: Callable[[], Any]) -> None:
        """Run the fit, and keep the estimator or the error that it left."""
        try:
            estimator = fit()
        except AssertionError:
            raise
        except Exception as error:
            self.recording.error = list(_chain(error))
            return
        self.recording.state = dict(vars(estimator))
        self.recording.mechanisms = list(estimator._privacy_releases())

    def listen(self, patch: pytest.MonkeyPatch) -> None:
        """Wrap the release, the ways to it and the streams, as they are now: mutants included."""
        open_source, opened, add_noise = (
            _noise.random_source,
            NoisyReleases.__init__,
            NoisyReleases.add_noise,
        )

        def random_source(seed, *names):
            # Without a seed there is nothing to repeat, so the seed 0 stands in for it.
            asked = open_source(seed, *names)
            source = open_source(0, *names) if seed is None else asked
            source = TapedSource(names, source, asked.n_parts)
            self.recording.sources.append(source)
            return source

        def init(releases, size, **keywords):
            opened(releases, size, **keywords)
            self._open(releases, keywords)

        def release(releases, total):
            clean = total.copy()
            return self._release(releases, clean, add_noise(releases, total))

        patch.setattr(_noise, "random_source", random_source)
        # The random name of a fit.
        patch.setattr(secrets, "token_hex", lambda n_bytes: "0" * 2 * n_bytes)
        patch.setattr(NoisyReleases, "__init__", init)
        patch.setattr(NoisyReleases, "add_noise", release)
        modules = [module for key, module in sys.modules.items() if key.startswith("skdp.")]
        for module in modules:
            # Where a function was imported by name, that name is what the module calls.
            for name in LEAVE_OUT.keys() & vars(module).keys():
                patch.setattr(module, name, LEAVE_OUT[name](getattr(module, name), self))

    def announce(self, left_out: Sequence[int]) -> None:
        """Say how many rows are left out of each release of the series that opens next."""
        self._announced = left_out

    def _open(self, releases: NoisyReleases, keywords: dict[str, Any]) -> None:
        assert self._announced is not None, (
            "rows reach a release in a way that LEAVE_OUT does not know"
        )
        self._series_of[id(releases)] = (releases, len(self.recording.series))
        self.recording.series.append(
            Series(
                sensitivity=keywords["sensitivity"],
                noise_scale=keywords["noise_scale"],
                source=keywords["source"],
                left_out=self._announced,
            )
        )
        self._announced = None

    def _release(self, releases: NoisyReleases, clean: np.ndarray, value: np.ndarray) -> np.ndarray:
        _, index = self._series_of[id(releases)]
        series = self.recording.series[index]
        step = len(series.releases)
        series.releases.append(Release(clean, value.copy(), int(series.left_out[step])))
        if self._to_play is None:
            return value
        tape = self._to_play[index] if index < len(self._to_play) else []
        assert step < len(tape), "a release is made that the first run did not make"
        played = tape[step].value
        assert played.shape == value.shape, (
            f"a release has shape {value.shape}, and {played.shape} in the first run"
        )
        value[...] = played
        return value


def _without_drawing(poisson_blocks: Callable, recorder: _Recorder) -> Callable:
    """A sampler that draws as it would, and then leaves the rows out of every batch."""

    def blocks(n_rows, sample_rate, n_steps, source):
        left_out = []
        recorder.announce(left_out)
        drawn = poisson_blocks(n_rows, sample_rate, n_steps, source)
        return _thinned(drawn, n_rows, recorder.rows, left_out)

    return blocks


def _thinned(drawn: Iterator[Block], n_rows: int, rows: np.ndarray, left_out: list[int]):
    """Blocks without the rows; how many each batch lost goes to `left_out` as it is known."""
    for block in drawn:
        thinned, n_left_out = _leave_out_of_block(block, n_rows, rows)
        left_out.extend(n_left_out)
        yield thinned


def _leave_out_of_block(block: Block, n_rows: int, rows: np.ndarray) -> tuple[Block, Sequence[int]]:
    n_batches = len(block.stops)
    if rows.size == 0:
        return block, [0] * n_batches
    drawn, stops = block
    if isinstance(drawn, slice):
        drawn = np.tile(np.arange(n_rows), n_batches)
        stops = n_rows * np.arange(1, n_batches + 1)
    out = np.isin(drawn, rows)
    out_before = np.concatenate([[0], np.cumsum(out)])[stops]
    kept = Block(drawn[~out], (np.asarray(stops) - out_before).tolist())
    # A row counts once a batch, also where a wrong sampler draws it twice.
    batch_of = np.repeat(np.arange(n_batches), np.diff(stops, prepend=0))
    pairs = np.unique(np.column_stack([batch_of[out], drawn[out]]), axis=0)
    return kept, np.bincount(pairs[:, 0], minlength=n_batches).tolist()


def _without_counting(noisy_counts: Callable, recorder: _Recorder) -> Callable:
    """Counts in which the rows, or all rows of the units, are in no bin."""

    def counts(bins, plan, source, **grouping):
        bins = np.array(bins)
        # What is in a row's place may have no bin where the row itself has one.
        recorder.announce([recorder.rows.size])
        bins[_rows_of_units(recorder.rows, grouping.get("units"), bins.size)] = -1
        return noisy_counts(bins, plan, source, **grouping)

    return counts


def _rows_of_units(drawn: np.ndarray, units: Any, n_rows: int) -> np.ndarray:
    """Row indices of what is drawn: rows, or units of several rows."""
    if units is None:
        return drawn
    parts = [part for parts, _ in units.pieces(drawn, n_rows) for part in parts]
    return np.concatenate([np.zeros(0, dtype=np.int64), *parts])


def _without_reading(noisy_sums: Callable, recorder: _Recorder) -> Callable:
    """Sums over a table without the rows: where nothing looks at how many rows there are."""

    def sums(X, *rest, usable):
        assert usable is None, "rows that are not usable are masked, not left out"
        recorder.announce([recorder.rows.size])
        kept = np.setdiff1d(np.arange(X.shape[0]), recorder.rows)
        return noisy_sums(X if recorder.rows.size == 0 else X[kept], *rest)

    return sums


# Every way in which rows get into a release, and how to leave some of them out. Each announces how
# many are left out, before the releases are opened.
LEAVE_OUT = {
    "poisson_blocks": _without_drawing,
    "noisy_counts": _without_counting,
    "noisy_moments": _without_reading,
    "noisy_sizes": _without_reading,
}


def _chain(error: BaseException | None):
    while error is not None:
        yield type(error).__name__, str(error)
        error = error.__cause__ or error.__context__


def _bits(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value.dtype, value.shape, value.tobytes()
    if isinstance(value, np.ndarray):
        return value.shape, value.tolist()
    return np.float64(value).tobytes() if isinstance(value, float) else value
