"""Where the pages of a deployment are, and how the page of a day is looked for there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from halfway_report.errors import DataSourceUnclear, DataSourceUnfit
from halfway_report.notion_values import DayPages, Hit, Search, StoredPage
from halfway_report.settings import NotionProperties, NotionSettings

if TYPE_CHECKING:  # its client is loaded by the first upload
    from halfway_report.notion import Notion

_TEXT = "rich_text"


@dataclass(frozen=True, kw_only=True)
class Place:
    """A data source; `by_property`: its pages carry their identity themselves."""

    source: str
    by_property: bool


def place_of(notion: Notion, settings: NotionSettings) -> Place:
    """The data source that is configured, or the only one of the database, and what it is able to do."""
    source = settings.data_source_id or _only_one(settings.database_id or "", notion)
    return Place(source=source, by_property=has_identity(notion.columns(source), settings.properties))


def has_identity(columns: Mapping[str, str], names: NotionProperties) -> bool:
    """Whether all three properties are there; some of them, or one of another kind, is a mistake and not a choice."""
    wanted = (names.external_id, names.content_hash, names.run_id)
    if not any(name in columns for name in wanted):
        return False
    wrong = [f"{name} is {columns.get(name, 'missing')}" for name in wanted if columns.get(name) != _TEXT]
    if wrong:
        raise DataSourceUnfit(f"of the properties {', '.join(wanted)}, which have to be of the kind text: {', '.join(wrong)}")
    return True


def look(notion: Notion, place: Place, external_id: str, day: DayPages) -> Search:
    """Looks for the page of a day: by its external id, or where it cannot have one, by the id that the runs of the day have kept."""
    if place.by_property:
        return _by_property(notion, place, external_id, day)
    if day.page is None and not day.complete:
        problem = "has no property to search for, and the database of the runs has forgotten pages of this day, or was not asked"
        raise DataSourceUnfit(f"the data source {place.source} {problem}; add the properties, or make sure that there is no page")
    if day.page is None:
        return Search(hits=(), complete=True, by_property=False)
    hit = notion.get(day.page.page.id)
    if hit is None:
        return Search(hits=(), complete=True, by_property=False, vanished=day.page.page.url)
    return Search(hits=(with_stored(hit, day.page),), complete=True, by_property=False)


def _by_property(notion: Notion, place: Place, external_id: str, day: DayPages) -> Search:
    """A query may lag, and does not see a page that was moved: where it sees nothing, the page that the runs know is looked at itself."""
    search = notion.find(place.source, external_id)
    if search.hits or not search.complete or day.page is None:
        return search
    hit = notion.get(day.page.page.id)
    if hit is None:
        return search  # deleted for good
    if hit.external_id == "" and not hit.run_id:
        hit = with_stored(hit, day.page)  # made before there were such properties
    elif hit.external_id not in (external_id, None):
        return search  # a person has taken the id away, and with it the page
    return replace(search, hits=(hit,))


def with_stored(hit: Hit, stored: StoredPage | None) -> Hit:
    """The page with what its runs know about it, where it says nothing itself."""
    if stored is None or stored.page.id != hit.page.id or hit.run_id or hit.content_hash:
        return hit
    return replace(hit, content_hash=stored.content_hash, run_id=stored.run_id)


def _only_one(database_id: str, notion: Notion) -> str:
    sources = notion.data_sources(database_id)
    match list(sources):
        case [source]:
            return source
        case []:
            raise DataSourceUnclear(f"the database {database_id} has no data source that the connection can see")
        case _:
            named = ", ".join(f"{name or 'without a name'} ({source})" for source, name in sources.items())
            raise DataSourceUnclear(f"the database {database_id} has {len(sources)} data sources: {named}")
