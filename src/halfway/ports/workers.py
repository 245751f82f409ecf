"""What a worker needs beside its runs: the lives of processes, artifacts, and the points at which a test breaks it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol


class Epoch(NamedTuple):
    """One life of one worker process."""

    id: str
    state: str  # ALIVE, DEAD, ENDED
    counter: int  # of its last beat
    beat_at: int  # database time of its last beat
    host: str
    pid: int
    identity: str  # what proves on the same machine that this very process is dead
    kill_after: int | None  # its parent kills it this long after the last confirmed beat; None: nobody does


class Lives(Protocol):
    """Epochs and their beats (section 8 of the design)."""

    observer: str  # the life of the server in which the epochs were last read; beats are compared within one only
    beats: bool  # whether life is shown by beats; on SQLite it is an OS lock, and a beat writes nothing

    def begin(self, *, host: str, pid: int, identity: str, kill_after: int | None, queues: Sequence[str] = ()) -> str:
        """A new epoch of a worker that serves these queues."""
        ...

    def beat(self, epoch: str) -> bool:
        """Counts one beat; False if the epoch is no longer alive."""
        ...

    def epochs(self) -> Sequence[Epoch]:
        """All that are alive, and the dead ones that still have open attempts."""
        ...

    def is_dead(self, epoch: Epoch) -> bool:
        """Whether it is proven that the process of this epoch is dead."""
        ...

    def declare_dead(self, epoch: Epoch) -> bool:
        """ALIVE -> DEAD, unless it has beaten since it was read."""
        ...

    def end(self, epoch: str) -> None:
        """The worker has stopped in good order and holds nothing."""
        ...

    def history_changed(self) -> bool:
        """Whether the server went on from a copy since the present era began; it is True until `RunStore.restored` opens a new one.

        The first call remembers what it finds. A file tells nothing, and a server that does not say counts as unchanged.
        """
        ...


class Artifacts(Protocol):
    """Content by its hash."""

    def put(self, content: bytes) -> tuple[str, int]:
        """Stores content durably and answers (sha256, size)."""
        ...

    def put_lines(self, lines: Iterator[bytes]) -> tuple[str, int]:
        """As `put`, for content that need not fit into memory."""
        ...

    def lines(self, sha256: str) -> Iterator[bytes] | None:
        """The content line by line, after its hash was checked; None if it is missing or does not match."""
        ...

    def get(self, sha256: str) -> bytes | None:
        """The content, or None if it is missing or does not match its hash."""
        ...


class Points(Protocol):
    """Named points of the engine where a test may stop, kill or break it."""

    def reached(self, name: str) -> None: ...


class NoPoints:
    """Nothing happens at any point."""

    def reached(self, name: str) -> None:
        return None
