"""One text in a file that several processes read and change, one at a time.

Whoever changes the text holds a lock of the operating system from reading to writing, which ends
with its holder, also when that process crashes. The new text is written beside the old one and then
takes its name in one step, and the folder is brought to the disk as well, so that a crash at any
moment leaves either the old text or the new one.
"""

import contextlib
import importlib
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import IO

from skdp.exceptions import PrivacyError, shown

__all__ = ["LockedFile", "check_path"]

# A change takes milliseconds.
_PATIENCE_IN_SECONDS = 60.0
_PAUSE_IN_SECONDS = 0.01


def _module(name: str) -> ModuleType | None:
    """A module that some systems have."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


fcntl, msvcrt = _module("fcntl"), _module("msvcrt")


class LockedFile:
    """A text file with a lock beside it.

    The lock is a file of the same name with ".lock" at its end, which stays there. If somebody
    deletes it, whoever holds it notices before writing.

    Parameters
    ----------
    path : str or path-like
        The folder must exist, the file need not.
    """

    def __init__(self, path: str | os.PathLike[str]):
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
        deadline = time.monotonic() + patience
        while (handle := self._try_to_open()) is None:
            if time.monotonic() >= deadline:
                raise TimeoutError(
                    f"another process has kept {str(self.path)!r} locked for {patience:g} "
                    "seconds: nothing was recorded; try again when it has ended"
                )
            time.sleep(_PAUSE_IN_SECONDS)
        self._handle, self._read_as = handle, self._identity()
        try:
            yield
        finally:
            _unlock(handle)
            handle.close()

    def exists(self) -> bool:
        """Whether there is a text."""
        return self.path.exists()

    def read(self) -> str:
        """The text; for those who hold the lock."""
        if self.path.stat().st_nlink > 1:
            raise PrivacyError(
                f"{str(self.path)!r} is one of several names of one file (hard links), and a "
                "ledger under two names would be spent twice: delete the others, or copy it"
            )
        return self.path.read_text(encoding="utf-8")

    def write(self, text: str) -> None:
        """Put another text in its place; for those who hold the lock."""
        # Nobody else writes in it, also where somebody else holds a lock of the same name.
        draft = self._beside(f".{secrets.token_hex(4)}.new")
        try:
            with open(draft, "x", encoding="utf-8", newline="\n") as handle:
                handle.write(text)
                handle.flush()
                os.fsync(handle.fileno())
            if self.exists():
                shutil.copymode(self.path, draft)
            if not self._is_own(self._handle) or self._identity() != self._read_as:
                raise PrivacyError(
                    f"the lock beside {str(self.path)!r} was deleted while it was held, or the "
                    "file was changed without it: nothing was recorded. Leave the .lock file where "
                    "it is, and try again"
                )
            os.replace(draft, self.path)
        finally:
            draft.unlink(missing_ok=True)
        self._read_as = self._identity()
        _sync_folder(self.path.parent)

    def _try_to_open(self) -> IO[bytes] | None:
        """The lock, held; None where another one holds it."""
        with contextlib.ExitStack() as closing:
            handle = closing.enter_context(open(self._beside(".lock"), "a+b"))
            if not _try_to_lock(handle):
                return None
            if not self._is_own(handle):
                _unlock(handle)
                return None
            closing.pop_all()
            return handle

    def _is_own(self, handle: IO[bytes]) -> bool:
        """Whether the file of a lock is still the one that others will find."""
        try:
            return os.path.samestat(os.fstat(handle.fileno()), os.stat(self._beside(".lock")))
        except FileNotFoundError:
            return False

    def _identity(self) -> tuple[int, ...] | None:
        try:
            found = os.stat(self.path)
        except FileNotFoundError:
            return None
        return (found.st_ino, found.st_size, found.st_mtime_ns)

    def _beside(self, ending: str) -> Path:
        return self.path.with_name(self.path.name + ending)


def _sync_folder(folder: Path) -> None:
    """Bring the new name to the disk; Windows does so by itself."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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
    elif msvcrt is not None:
        handle.seek(0)
        msvcrt.locking(handle.fileno(), msvcrt.LK_UNLCK, 1)


def check_path(path: str | os.PathLike[str] | None) -> None:
    """Refuse what cannot be a file, before a lock is put beside it."""
    if path is None or (os.fspath(path) and not os.path.isdir(path)):
        return
    what = "names no file" if not os.fspath(path) else "is a folder"
    raise ValueError(
        f"path={shown(os.fspath(path))} {what}: give the name of a file, such as "
        '"budget.json", which is made where there is none; or leave path out to keep the ledger in '
        "memory"
    )
