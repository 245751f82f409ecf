"""The command `report` as a person types it, in a folder of its own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from halfway_report.cli import main
from tests.report.conftest import Scratch


class Shell:
    """Calls the command with a `report.toml` of its own."""

    def __init__(self, folder: Path, repo: Scratch) -> None:
        self.folder, self.repo = folder, repo
        self.config = folder / "report.toml"
        self.configure()

    def configure(self, more: str = "", *, project: str = "") -> None:
        """Writes the file anew."""
        self.config.write_text(f'[projects.shop]\nrepositories = ["{self.repo.path}"]\n{project}\n{more}\n', encoding="utf-8")

    @property
    def path(self) -> Path:
        return self.folder / "reports" / "shop" / "2026-09-30.md"

    def __call__(self, *arguments: str, lang: str = "en") -> Result:
        result = CliRunner().invoke(main, [*arguments], env={"REPORT_CONFIG": str(self.config), "HALFWAY_LANG": lang, "COLUMNS": "200"})
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert "Traceback" not in result.output
        return result

    def run(self, *more: str) -> Result:
        return self("run", "shop", "--date", "2026-09-30", "--json", *more)

    def facts(self, *arguments: str, exit_code: int = 0) -> dict[str, Any]:
        """What a command prints as JSON."""
        result = self(*arguments, "--json")
        assert result.exit_code == exit_code, result.output
        found: dict[str, Any] = json.loads(result.stdout)
        return found

    def rows(self, *arguments: str, exit_code: int = 0) -> Sequence[dict[str, Any]]:
        """What a command prints as a list."""
        result = self(*arguments, "--json")
        assert result.exit_code == exit_code, result.output
        found: Sequence[dict[str, Any]] = json.loads(result.stdout)
        return found
