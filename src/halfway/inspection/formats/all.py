"""Every reader, in the order in which they are asked whether a text is theirs."""

from __future__ import annotations

from halfway.inspection.formats import Reader

READERS: tuple[Reader, ...] = ()
