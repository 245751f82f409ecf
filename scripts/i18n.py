"""The catalogues of other languages: collects what is to be translated, brings the .po files up to date and compiles them.

`--check` changes nothing and fails if a catalogue is not current, lacks a translation, or fills in something else than the English.
"""

from __future__ import annotations

import ast
import inspect
import io
import itertools
import re
import struct
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po, write_po

ROOT = Path(__file__).parents[1]
LANGUAGES = ("ko",)
PACKAGES = (("halfway", True), ("halfway_report", False))  # and whether its messages are told in other ways than by _()
AUTHORS = "authoring"  # speaks to who writes a definition; English, as all of Python
TABLES = {
    "MESSAGES",
    "SENTENCES",
    "NOTES",
    "FATES",
    "FOLLOWS",
    "TRAITS",
    "USAGE",
    "FRAME",
    "VERDICTS",
    "OUTCOMES",
    "ANSWERS",
    "CATEGORIES",
    "SEVERITIES",
    "KINDS",
    "REPEATS",
    "REVERSIBLE",
    "TRUSTS",
    "remedies",
}  # every text in these dictionaries is told to people
KNOWN = {"probe", "compensation", "where"}  # texts of the knowledge base
TOLD = {"source", "problem", "remedy", "reason"}  # ... and every text passed under these names
REFUSALS = {"_refuse", "refuse", "_refusal", "_recommended", "_need", "_error"}
SPOKEN = {
    *(("clauses.py", name) for name in ("_evidence", "_awaited", "_starts", "_many", "_rule", "_plain_rule")),
    *(("clauses.py", name) for name in ("_rule_of_effect", "_stops", "_goes_back", "_wait_ends", "_what_follows", "_undo")),
    *(("picture.py", name) for name in ("_about", "_kind", "_details", "_recovery", "_fan", "_again")),
    ("overdue.py", "cut"),
    ("ordering.py", "told"),
    ("ordering.py", "instead"),
}  # functions that answer with words
INSPECTION = "inspection"  # its sentences are told with their parts, and filled in last
DOCUMENTED = "errors.py"
# What a run of an application keeps as its message, and what a file of settings is refused with: told later, in whichever language.
KEPT = {
    *("CannotTell", "Incomplete", "NotionError", "OtherContent", "OutsideFolder", "Fault", "ValueError", "CalendarUnknown"),
    *("GitFailed", "GitTookTooLong", "GitSaidTooMuch", "RepositoryUnusable", "BranchUnknown", "InvalidInput", "__init__", "add"),
}
KEPT_IN = {"told", "text", "problem", "HINTS", "UNEXPLAINED", "LEFT_OUT"}
KEPT_BY = {"share_problem"}
HEADER = "# The catalogue of halfway in {language}; brought up to date by scripts/i18n.py."


def main() -> int:
    """Updates or checks everything; answers the exit code."""
    checking = sys.argv[1:] == ["--check"]
    faults: list[str] = []
    faults += [fault for path in sorted((ROOT / "src").rglob("*.py")) for fault in _untold(path)]
    for package, telling in PACKAGES:
        files = [path for path in sorted((ROOT / "src" / package).rglob("*.py")) if path.parent.name != AUTHORS]
        texts = sorted({text for path in files for text in _texts(path, telling=telling)} | set(_known(ROOT / "src" / package)))
        for language in LANGUAGES:
            faults += _bring_up_to_date(ROOT / "src" / package / "locale" / language / "LC_MESSAGES", language, texts, checking=checking)
    print("\n".join(faults) or "current", file=sys.stderr if faults else sys.stdout)
    return 1 if faults else 0


# ── what is to be translated ──


def _texts(path: Path, *, telling: bool) -> Iterator[str]:
    if path.name == DOCUMENTED and not telling:
        yield from _documented(path)
    if not telling and not _is_command_line(path):
        yield from _kept(path)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            yield from _of_call(node, telling)
            yield from _help(node) if _is_command_line(path) else ()
        elif isinstance(node, ast.FunctionDef) and _is_command_line(path) and any(map(_makes_command, node.decorator_list)):
            yield from _paragraphs(ast.get_docstring(node) or "")
        elif telling and isinstance(node, ast.Assign | ast.AnnAssign) and _target(node) in TABLES and isinstance(node.value, ast.Dict):
            yield from filter(None, map(_text, node.value.values))
        elif INSPECTION in path.parts and isinstance(node, ast.Assign) and (sentence := _sentence(node)) is not None:
            yield sentence
        elif telling and isinstance(node, ast.Assign) and (_target(node) in TOLD or _is_template(node)):
            branches = (node.value.body, node.value.orelse) if isinstance(node.value, ast.IfExp) else (node.value,)
            yield from filter(None, map(_numbered, branches))
        elif telling and isinstance(node, ast.FunctionDef) and (path.name, node.name) in SPOKEN:
            yield from _of_words(node)


def _sentence(node: ast.Assign) -> str | None:
    """A sentence in capitals of an inspection keeps the names of its gaps: it is filled in by whoever shows it."""
    text = _text(node.value)
    told = text is not None and _target(node).isupper() and " " in text and (text.endswith(".") or "{" in text) and "\\" not in text
    return text if told else None


def _known(folder: Path) -> Iterator[str]:
    """What the knowledge base says in words."""
    for path in sorted(folder.rglob("*.toml")):
        for row in tomllib.loads(path.read_text(encoding="utf-8")).get("action", []):
            yield from (row["probe"], row["compensation"], *([row["key"]["where"]] if "key" in row else []))


def _untold(path: Path) -> Iterator[str]:
    """What the knowledge base says is a sentence of its own: filled in as a plain text it would stay English."""
    for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "Said" and len(call.args) == 2:
            gaps = call.args[1].values if isinstance(call.args[1], ast.Dict) else []
            plain = (gap.attr for gap in gaps if isinstance(gap, ast.Attribute) and gap.attr in KNOWN)
            yield from (f"{path.relative_to(ROOT)}:{call.lineno}: wrap {name} in Said, else it is not translated" for name in plain)


def _documented(path: Path) -> Iterator[str]:
    """What the errors of an application say to do stands in their docstrings, so that it is written once."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef) and (told := ast.get_docstring(node)):
            yield " ".join(told.split())


def _kept(path: Path) -> Iterator[str]:
    """Messages of an application that are not told where they are made."""
    package = next(folder for folder in path.parents if (folder / DOCUMENTED).exists())
    errors = {node.name for node in ast.parse((package / DOCUMENTED).read_text(encoding="utf-8")).body if isinstance(node, ast.ClassDef)}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and _name(node) in KEPT | errors:
            values = (*node.args, *(keyword.value for keyword in node.keywords))
            yield from (text for value in values for text in _branches(value))
        elif isinstance(node, ast.Assign | ast.AnnAssign) and _target(node) in KEPT_IN and node.value is not None:
            yield from (text for value in _values(node.value) for text in _branches(value))
        elif isinstance(node, ast.FunctionDef) and node.name in KEPT_BY:
            yield from _of_words(node)


def _values(node: ast.expr) -> list[ast.expr]:
    """Those of a table, also of one that cannot be changed; else the text itself."""
    table = node.args[0] if isinstance(node, ast.Call) and node.args else node
    return table.values if isinstance(table, ast.Dict) else [node]


def _branches(node: ast.expr) -> Iterator[str]:
    """The texts of more than a word that an expression may be."""
    parts = [node.body, node.orelse] if isinstance(node, ast.IfExp) else node.values if isinstance(node, ast.BoolOp) else [node]
    yield from (text for part in parts if (text := _text(part)) and " " in text)


def _is_template(node: ast.Assign) -> bool:
    """A sentence in capitals that is filled in where it is used."""
    text = _text(node.value)
    return _target(node).isupper() and text is not None and " " in text and "{" in text and "\n" not in text


def _numbered(node: ast.expr) -> str | None:
    """Named gaps, as they stand in a finished sentence."""
    text = _text(node)
    numbers = itertools.count()
    return None if text is None else re.sub(r"\{[a-z_]*\}", lambda _: f"{{{next(numbers)}}}", text)


def _of_call(call: ast.Call, telling: bool) -> Iterator[str]:
    name = _name(call)
    if name == "_":
        yield from filter(None, map(_text, call.args[:1]))
    if telling:
        yield from filter(None, (_text(keyword.value) for keyword in call.keywords if keyword.arg in TOLD))
        if name in ("Said", "remark", "todo"):
            yield from filter(None, map(_text, call.args[:1]))
        if name == "Unread":
            yield from filter(None, map(_text, call.args[1:2]))
        if name == "Skip":
            yield from filter(None, map(_text, call.args[1:2]))
        if name == "Unreadable":
            yield from (text for value in call.args[:1] for text in _branches(value))
        if name == "Rule":
            yield from filter(None, (_text(keyword.value) for keyword in call.keywords if keyword.arg in ("title", "why", "fix")))
            conditions = (keyword.value for keyword in call.keywords if keyword.arg == "holds_if")
            yield from filter(None, (_text(one) for value in conditions for one in ast.walk(value) if isinstance(one, ast.Constant)))
        if name in REFUSALS:
            yield from (text for argument in call.args if (text := _text(argument)) and " " in text)


def _name(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else call.func.attr if isinstance(call.func, ast.Attribute) else ""


def _is_command_line(path: Path) -> bool:
    return path.parent.name == "cli" or path.name == "command.py"


def _help(call: ast.Call) -> Iterator[str]:
    """What the help of a command line says of options and groups, and in its lists of commands."""
    values = {keyword.arg: keyword.value for keyword in call.keywords}
    if not _is_hidden(call):
        yield from (part for name in ("help", "short_help") if name in values for part in _paragraphs(_text(values[name]) or ""))
    places = values.get("places")
    if isinstance(places, ast.Dict):
        yield from (text for place in places.values if isinstance(place, ast.Tuple) and (text := _text(place.elts[1])))


def _makes_command(decorator: ast.expr) -> bool:
    made = isinstance(decorator, ast.Call) and isinstance(decorator.func, ast.Attribute) and decorator.func.attr in ("command", "group")
    return made and not _is_hidden(decorator)


def _is_hidden(call: ast.expr) -> bool:
    return isinstance(call, ast.Call) and any(
        keyword.arg == "hidden" and isinstance(keyword.value, ast.Constant) and keyword.value.value is True for keyword in call.keywords
    )


def _paragraphs(text: str) -> Iterator[str]:
    """Each as it is looked up: its words, however its lines are broken."""
    for part in re.split(r"\n\s*\n", inspect.cleandoc(text).partition("\f")[0]):
        yield from filter(None, [" ".join(part.split())])


def _of_words(function: ast.FunctionDef) -> Iterator[str]:
    """The words of an answer that are not the author's."""
    docstring = ast.get_docstring(function, clean=False)
    whole = {id(value) for part in ast.walk(function) if isinstance(part, ast.JoinedStr) for value in part.values}
    parts = (part for part in ast.walk(function) if isinstance(part, ast.Constant | ast.JoinedStr) and id(part) not in whole)
    yield from (text for part in parts if (text := _text(part)) and text != docstring and " " in text.strip("; "))


def _target(node: ast.Assign | ast.AnnAssign) -> str:
    target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
    return target.id if isinstance(target, ast.Name) else ""


def _text(node: ast.expr) -> str | None:
    """A literal text; what an f-string fills in becomes a numbered gap."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if not isinstance(node, ast.JoinedStr):
        return None
    parts: list[str] = []
    gaps = 0
    for value in node.values:
        if isinstance(value, ast.Constant):
            parts.append(str(value.value))
        else:
            parts.append(f"{{{gaps}}}")
            gaps += 1
    text = "".join(parts)
    return text if re.search(r"[a-z]{2}", re.sub(r"\{\d\}", "", text)) else None


# ── the catalogue ──


def _bring_up_to_date(folder: Path, language: str, texts: list[str], *, checking: bool) -> list[str]:
    po, mo = folder / "halfway.po", folder / "halfway.mo"
    known = read_po(io.BytesIO(po.read_bytes()), locale=language) if po.exists() else Catalog(locale=language)
    catalogue = Catalog(locale=language, project="halfway", header_comment=HEADER.format(language=language), fuzzy=False)
    for text in texts:
        entry = known.get(text)
        catalogue.add(text, entry.string if entry is not None else "")
    files = {po: _po(catalogue), mo: _mo(catalogue)}
    faults = [f"{po.relative_to(ROOT)}: {fault}" for message in catalogue if message.id for fault in _faults(message.id, message.string)]
    for path, content in files.items():
        if checking and (not path.exists() or path.read_bytes() != content):
            faults.append(f"{path.relative_to(ROOT)} is not current; run: python scripts/i18n.py")
        elif not checking:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    return faults


def _faults(text: object, told: object) -> Iterator[str]:
    if not told:
        yield f"not translated: {text!r}"
    elif _gaps(text) != _gaps(told):
        yield f"fills in something else than the English: {text!r}"


def _gaps(text: object) -> set[str]:
    return set(re.findall(r"\{\w*\}", str(text)))


def _po(catalogue: Catalog) -> bytes:
    file = io.BytesIO()
    write_po(file, catalogue, width=130, omit_header=True)
    head = "".join(f'"{line}\\n"\n' for line in _head(catalogue))
    return f'{catalogue.header_comment}\nmsgid ""\nmsgstr ""\n{head}\n'.encode() + file.getvalue().lstrip(b"\n")


def _head(catalogue: Catalog) -> list[str]:
    """Without dates and versions: the same texts give the same file."""
    return [
        f"Language: {catalogue.locale}",
        "MIME-Version: 1.0",
        "Content-Type: text/plain; charset=utf-8",
        "Content-Transfer-Encoding: 8bit",
    ]


def _mo(catalogue: Catalog) -> bytes:
    """The binary form that gettext reads: a header, two tables of (length, offset), then the texts, each with a NUL after it."""
    texts = {"": "".join(f"{line}\n" for line in _head(catalogue))}
    texts |= {str(message.id): str(message.string) for message in catalogue if message.id and message.string}
    pairs = sorted((text.encode(), told.encode()) for text, told in texts.items())
    offset = 7 * 4 + 2 * 8 * len(pairs)
    tables, data = b"", b""
    for column in (0, 1):
        for pair in pairs:
            tables += struct.pack("<II", len(pair[column]), offset + len(data))
            data += pair[column] + b"\0"
    return struct.pack("<7I", 0x950412DE, 0, len(pairs), 28, 28 + 8 * len(pairs), 0, offset) + tables + data


if __name__ == "__main__":
    sys.exit(main())
