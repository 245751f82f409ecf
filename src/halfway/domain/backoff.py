"""How long to wait before the next attempt: exponential, capped, with jitter that is a hash, so the same facts give the same time."""

from __future__ import annotations

import hashlib
import math

from halfway.domain.spec import RetrySpec

LONGEST_ASKED = 3_600_000_000  # a receiver's Retry-After is honoured up to an hour


def delay(retry: RetrySpec, failures: int, seed: str, asked: int | None = None) -> int:
    """Microseconds until the next attempt, after `failures` attempts; `asked` is what the receiver asked for."""
    wait = _exponential(retry, max(failures, 1) - 1)
    spread = int.from_bytes(hashlib.blake2b(f"{seed}:{failures}".encode(), digest_size=4).digest()) / 2**32
    jittered = int(wait * (0.5 + spread / 2))
    return max(jittered, min(max(asked or 0, 0), LONGEST_ASKED))


def _exponential(retry: RetrySpec, power: int) -> int:
    if retry.wait <= 0:
        return 0
    if retry.factor > 1 and power * math.log(retry.factor) > math.log(max(retry.max_wait / retry.wait, 1)):
        return retry.max_wait  # the cap is known before a power could overflow
    return min(int(retry.wait * retry.factor**power), retry.max_wait)
