"""XML as a tree whose elements know their lines. Entities and external parts are refused, and nothing is fetched."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from io import StringIO
from xml.sax import SAXException, handler
from xml.sax.xmlreader import AttributesNSImpl, InputSource, Locator

from halfway.inspection.model import Span
from halfway.inspection.quoting import quoted
from halfway.inspection.source import DEEPEST, MOST_NODES, Source, Unreadable


@dataclass(eq=False)
class Element:
    """One element, by its local name."""

    name: str
    space: str
    attributes: Mapping[str, str]  # by local name; of one with a prefix also by `namespace name`
    span: Span
    parent: Element | None = None
    children: list[Element] = field(default_factory=list["Element"])
    text: str = ""

    def get(self, name: str) -> str:
        return self.attributes.get(name, "")

    def all(self, *names: str) -> Iterator[Element]:
        """The elements below it with one of these names, in the order of the file."""
        left = list(reversed(self.children))
        while left:
            one = left.pop()
            if one.name in names:
                yield one
            left += reversed(one.children)

    def first(self, *names: str) -> Element | None:
        """The first element below it with one of these names."""
        return next(self.all(*names), None)

    def child(self, *names: str) -> Element | None:
        """The first direct child with one of these names."""
        return next((one for one in self.children if one.name in names), None)


class _Builder(handler.ContentHandler):
    def __init__(self, source: Source) -> None:
        super().__init__()
        self._source, self._count = source, 0
        self._open: list[Element] = []
        self._said: list[list[str]] = []  # by open element, the parts of its text
        self._where: Locator | None = None
        self.root: Element | None = None

    def setDocumentLocator(self, locator: Locator) -> None:
        self._where = locator

    def startElementNS(self, name: tuple[str | None, str], qname: str | None, attrs: AttributesNSImpl) -> None:
        self._count += 1
        if len(self._open) > DEEPEST or self._count > MOST_NODES:
            raise SAXException(f"it is deeper than {DEEPEST} levels, or has more than {MOST_NODES:,} elements")
        line = (self._where.getLineNumber() if self._where is not None else None) or 1
        given: dict[str, str] = {}
        for (space, local), value in attrs.items():
            given[f"{space} {local}" if space else local] = value
            given.setdefault(local, value)
        parent = self._open[-1] if self._open else None
        path = quoted(given.get("id") or name[1])
        element = Element(name[1], name[0] or "", given, self._source.span(line, at=path), parent)
        if parent is not None:
            parent.children.append(element)
        self.root = self.root or element
        self._open.append(element)
        self._said.append([])

    def endElementNS(self, name: tuple[str | None, str], qname: str | None) -> None:
        element = self._open.pop()
        element.text = "".join(self._said.pop())
        line = (self._where.getLineNumber() if self._where is not None else None) or element.span.line
        element.span = Span(element.span.file, element.span.line, line, element.span.at)

    def characters(self, content: str) -> None:
        if self._open and content.strip():
            self._said[-1].append(content)


def tree(source: Source) -> Element:
    """The root element; raises Unreadable."""
    # Loaded when an XML file is read; it is of the extra `inspect`.
    from defusedxml.common import DefusedXmlException  # type: ignore[import-untyped]  # noqa: PLC0415  # it has no types
    from defusedxml.expatreader import DefusedExpatParser  # type: ignore[import-untyped]  # noqa: PLC0415  # it has no types

    builder = _Builder(source)
    parser = DefusedExpatParser(1, forbid_dtd=True)  # 1: with namespaces
    parser.setContentHandler(builder)
    given = InputSource(source.path)
    given.setCharacterStream(StringIO(source.text.removeprefix("\ufeff")))
    try:
        parser.parse(given)
    except DefusedXmlException as error:
        raise Unreadable("it declares a type of document or entities, which are not read") from error
    except (SAXException, ValueError, LookupError) as error:
        line = getattr(error, "getLineNumber", lambda: None)()
        problem = getattr(error, "getMessage", lambda: "")() or type(error).__name__
        raise Unreadable(f"line {line}: {problem}" if line else problem) from error
    if builder.root is None:
        raise Unreadable("it is empty")
    return builder.root
