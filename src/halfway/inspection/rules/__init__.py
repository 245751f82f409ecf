"""The rules, one file each; `all_rules` has them in the order of their ids."""

from __future__ import annotations

import pkgutil
import re
from functools import cache
from importlib import import_module

from halfway.inspection.finding import Rule

_RULE_FILE = re.compile(r"r\d\d_\w+")


@cache
def all_rules() -> tuple[Rule, ...]:
    """Every rule of this folder: a file `rNN_name.py` has one as RULE."""
    names = (module.name for module in pkgutil.iter_modules(__path__) if _RULE_FILE.fullmatch(module.name))
    found: list[Rule] = [import_module(f"{__name__}.{name}").RULE for name in names]
    return tuple(sorted(found, key=lambda rule: rule.id))
