"""Links between pages lead somewhere, and every page can be reached."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.pages import ROOT, Page, pages


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_the_links_of_a_page_lead_somewhere(page: Page) -> None:
    assert [link for link in page.links() if not leads_somewhere(page, link)] == []


def leads_somewhere(page: Page, link: str) -> bool:
    if link.startswith(("https://", "http://", "mailto:")):
        return True
    path, _, anchor = link.partition("#")
    target = target_of(page, path)
    if not target.exists():
        return False
    return not anchor or target.suffix != ".md" or anchor in Page(path=target).anchors()


def target_of(page: Page, path: str) -> Path:
    return (page.path.parent / path).resolve() if path else page.path


def test_every_page_can_be_reached_from_the_readme() -> None:
    waiting, reached = [Page(path=ROOT / "README.md")], set[Path]()
    while waiting:
        page = waiting.pop()
        if page.path in reached:
            continue
        reached.add(page.path)
        targets = (target_of(page, link.partition("#")[0]) for link in page.links() if not link.startswith("http"))
        waiting.extend(Page(path=target) for target in targets if target.suffix == ".md" and target.exists())
    assert {page.name for page in pages() if page.path not in reached} == set()
