"""How long something is, in the notations of engines and timetables: `30 seconds`, `PT10M`, `1h 30min`, `1m30s`."""

from __future__ import annotations

import re

_UNITS = {
    "ms": 0.001, "msec": 0.001, "millisecond": 0.001,
    "s": 1.0, "sec": 1.0, "second": 1.0,
    "m": 60.0, "min": 60.0, "minute": 60.0,
    "h": 3600.0, "hr": 3600.0, "hour": 3600.0,
    "d": 86400.0, "day": 86400.0,
    "w": 604800.0, "week": 604800.0,
    "month": 2_629_800.0, "y": 31_557_600.0, "year": 31_557_600.0,
}  # fmt: skip
_PART = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)\s*([a-z]*)[\s,]*")
_ISO = re.compile(
    r"p(?:(\d{1,6})y)?(?:(\d{1,6})m)?(?:(\d{1,6})w)?(?:(\d{1,6})d)?(?:t(?:(\d{1,9})h)?(?:(\d{1,9})m)?(?:(\d{1,9}(?:\.\d{1,9})?)s)?)?"
)
_ISO_UNITS = ("year", "month", "week", "day", "h", "m", "s")


def seconds(text: str) -> float | None:
    """The length in seconds, a bare number being seconds; None for what is no length."""
    text = text.strip().lower()
    iso = _ISO.fullmatch(text)
    if iso and any(iso.groups()):
        return sum(float(part) * _UNITS[unit] for part, unit in zip(iso.groups(), _ISO_UNITS, strict=True) if part)
    total, at = 0.0, 0
    while at < len(text):
        part = _PART.match(text, at)
        if part is None:
            return None
        unit = part[2] or "s"
        size = _UNITS.get(unit) or _UNITS.get(unit.removesuffix("s"))
        if size is None:
            return None
        total, at = total + float(part[1]) * size, part.end()
    return total if text else None
