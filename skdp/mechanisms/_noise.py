"""Sources of Gaussian noise and of the sampler's randomness.

Two kinds with one interface. `SystemSource` reads the operating system's cryptographic generator:
nobody who sees its outputs can predict the next. `SeededSource` is NumPy's generator, whose
state can be recovered from its outputs: it serves repeatable runs only.
"""

import hashlib
import math
import os
from typing import NamedTuple, Protocol

import numpy as np
from scipy.special import ndtri

__all__ = [
    "RandomSource",
    "SeededSource",
    "Streams",
    "SystemSource",
    "draw_seed",
    "random_source",
]


class RandomSource(Protocol):
    """What the sampler and the noise need of a source of randomness.

    `n_parts` is how many normal draws, each rounded on its own, a release adds up for one draw of
    its noise.
    """

    n_parts: int

    def exponential(self, size: int) -> np.ndarray:
        """Independent draws from the exponential distribution of mean 1."""

    def normal(self, shape: tuple[int, ...]) -> np.ndarray:
        """Independent draws from the standard normal distribution."""


class SystemSource:
    """Randomness from `os.urandom`, 64 bits a draw.

    There is no state that a forked process could share, and nothing to seed.

    A draw is a double, so on a fine grid the share of draws that fall into one cell differs from
    the cell's probability, by about 2^-53 times the noise over the spacing. In the sum of two
    rounded draws these differences cancel between neighbouring cells, all but their squares and
    about 2^-49; docs/privacy_model.md has the bounds.
    """

    n_parts = 2

    def exponential(self, size: int) -> np.ndarray:
        """Draw by inversion: the negative logarithm of a uniform variable in (0, 1]."""
        uniform = _random_words(size) * 2.0**-64
        # Zero has probability 2^-64; half a step keeps the logarithm finite there.
        np.maximum(uniform, 2.0**-65, out=uniform)
        np.log(uniform, out=uniform)
        return np.negative(uniform, out=uniform)

    def normal(self, shape: tuple[int, ...]) -> np.ndarray:
        """Draw a sign bit and a tail probability `u / 2`, and invert the normal's lower tail.

        The lower tail of a double reaches far below 2^-53, so both tails have full resolution.
        """
        words = _random_words(math.prod(shape))
        tail = (words >> np.uint64(1)) * 2.0**-64
        np.maximum(tail, 2.0**-65, out=tail)
        draws = ndtri(tail, out=tail)
        # The lowest bit, which the tail does not use, flips the sign bit.
        bits = draws.view(np.uint64)
        bits ^= words << np.uint64(63)
        return draws.reshape(shape)


class SeededSource:
    """Repeatable randomness from NumPy's generator, for tests and for examples.

    Parameters
    ----------
    entropy : int
        The whole of the seed; equal seeds give equal draws.
    """

    n_parts = 1

    def __init__(self, entropy: int):
        self._generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence(entropy)))

    def exponential(self, size: int) -> np.ndarray:
        """Independent draws from the exponential distribution of mean 1."""
        return self._generator.standard_exponential(size)

    def normal(self, shape: tuple[int, ...]) -> np.ndarray:
        """Independent draws from the standard normal distribution."""
        return self._generator.standard_normal(shape)


def draw_seed(random_state: int | np.random.RandomState | None) -> int | None:
    """Turn scikit-learn's `random_state` into one fit's seed; None means the system's source.

    A `RandomState` gives one draw a fit, so that fits in a row differ and a rerun repeats them.
    """
    if random_state is None:
        return None
    if isinstance(random_state, np.random.RandomState):
        return int.from_bytes(random_state.bytes(16), "little")
    return int(random_state)


def random_source(seed: int | None, *names: str) -> RandomSource:
    """Open the stream that belongs to a seed and to the names of who uses it.

    Parameters
    ----------
    seed : int or None
        None for the system's cryptographic source, which the names do not change.
    *names : str
        Class, release and purpose. Two streams with different names are independent, so two
        kinds of estimator with one seed share no noise, and sampling shares none with noise.

    Returns
    -------
    source : RandomSource
        At its beginning: a seed and names give the same draws every time.
    """
    if seed is None:
        return SystemSource()
    digest = hashlib.sha256("/".join([str(seed), *names]).encode()).digest()
    return SeededSource(int.from_bytes(digest, "little"))


class Streams(NamedTuple):
    """The randomness of one fit: a stream of its own for each release and purpose.

    Parameters
    ----------
    seed : int or None
        As from `draw_seed`.
    owner : str
        Name of the estimator's class.
    """

    seed: int | None
    owner: str

    @property
    def source(self) -> str:
        """Where the randomness comes from: "system" or "seeded"."""
        return "system" if self.seed is None else "seeded"

    def open(self, *names: str) -> RandomSource:
        """Open the stream of these names."""
        return random_source(self.seed, self.owner, *names)


def _random_words(size: int) -> np.ndarray:
    return np.frombuffer(os.urandom(8 * size), dtype=np.uint64)
