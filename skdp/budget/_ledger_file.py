"""One text in a file that several processes read and change, one at a time.

Whoever changes the text holds a lock of the operating system from reading to writing, which ends
with its holder, also when he crashes. The new text is written beside the old one and then takes its
name in one step, so that a crash at any moment leaves either the old text or the new one.
"""

import contextlib
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:
    fcntl = None
try:
    import msvcrt
except ImportError:
    msvcrt = None

__all__ = ["LockedFile"]

# A change takes milliseconds.
_PATIENCE_IN_SECONDS = 60.0
_PAUSE_IN_SECONDS = 0.01


class LockedFile:
    """A text file with a lock beside it.

    The lock is a file of the same name with ".lock" at its end, which stays there: deleting it
    would let two processes hold different ones.

    Parameters
    ----------
    path : str or path-like
        The folder must exist, the file need not.
    """

    def __init__(self, path: str | os.PathLike):
        # The file itself rather than a link to it: the link would be what is replaced.
        self.path = Path(os.path.realpath(path))

    @contextlib.contextmanager
    def locked(self, patience: float = _PATIENCE_IN_SECONDS) -> Iterator[None]:
        """Keep every other process and thread out.

        Parameters
        ----------
        patience : float
            Seconds to wait for the others.

        Raises
        ------
        TimeoutError
            Where somebody holds the lock for longer.
        """
        with open(self._beside(".lock"), "a+b") as handle:
            deadline = time.monotonic() + patience
            while not _try_to_lock(handle):
                if time.monotonic() >= deadline:
                    raise TimeoutError(
                        f"another process has kept {str(self.path)!r} locked for {patience:g} "
                        "seconds: nothing was recorded; try again when it has ended"
                    )
                time.sleep(_PAUSE_IN_SECONDS)
            try:
                yield
            finally:
                _unlock(handle)

    def exists(self) -> bool:
        """Whether there is a text."""
        return self.path.exists()

    def read(self) -> str:
        """The text; for those who hold the lock."""
        return self.path.read_text(encoding="utf-8")

    def write(self, text: str) -> None:
        """Put another text in its place; for those who hold the lock."""
        draft = self._beside(".new")
        with open(draft, "w", encoding="utf-8", newline="\n") as handle:
            handle.write(text)
            handle.flush()
            os.fsync(handle.fileno())
        if self.exists():
            shutil.copymode(self.path, draft)
        os.replace(draft, self.path)

    def _beside(self, ending: str) -> Path:
        return self.path.with_name(self.path.name + ending)


def _try_to_lock(handle: IO[bytes]) -> bool:
    try:
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        elif msvcrt is not None:
            # Windows locks bytes from the present position on.
            handle.seek(0)
            msvcrt.locking(handle.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            raise OSError(
                "this system has no locks for files, so no ledger can be shared in one: leave "
                "path=None, and keep to_json()"
            )
    except (BlockingIOError, PermissionError):
        return False
    return True


def _unlock(handle: IO[bytes]) -> None:
    if fcntl is not None:
        fcntl.flock(handle, fcntl.LOCK_UN)
    else:
        handle.seek(0)
        msvcrt.locking(handle.fileno(), msvcrt.LK_UNLCK, 1)
