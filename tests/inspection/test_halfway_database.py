"""A database of halfway as evidence: what landed, what nobody knows, and nothing about the database is changed by looking."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import BaseModel

from halfway import Effect, Halfway, Mark, Step, StepFailed, Workflow
from halfway.inspection.databases import ANOTHER, HEAD, dump
from halfway.inspection.formats import Given
from halfway.inspection.formats.all import READERS
from halfway.inspection.formats.halfway.database import DatabaseReader
from halfway.inspection.inspecting import Inspection, Inspector
from halfway.inspection.judging import Verdict
from halfway.inspection.knowledge import load
from halfway.inspection.model import Outcome, RunLog
from halfway.inspection.rules import all_rules
from halfway.inspection.source import Source, Unreadable

KNOWN = load()
FILE = """from halfway import Effect, Workflow
orders = Workflow("ORDERS", Order, version=1, owner="shop", key=lambda order: order.id)

@orders.step(Effect.CREATE, idempotent=True)
def charge(step): return pay(key=step.key)

@orders.step(Effect.CHANGE, evidence="the ledger")
def book(step): return ledger()

@orders.step(Effect.NOTIFY, evidence="log")
def tell(step): return mail()
"""


class Order(BaseModel):
    id: str
    card: str = "4111-1111"


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One run that ended well, one whose second answer was lost, and one that waits in line."""
    orders = Workflow("ORDERS", Order, version=1, owner="shop", key=lambda order: order.id)

    @orders.step(Effect.CREATE, idempotent=True)
    def charge(step: Step[Order], mark: Mark) -> str:
        with mark:
            step.evidence(charge="ch_77")
        return f"paid with {step.input.card}"

    @orders.step(Effect.CHANGE, evidence="the ledger")
    def book(step: Step[Order], mark: Mark) -> None:
        if step.input.id == "dull":
            raise StepFailed("the books are closed")
        with mark:
            if step.input.id == "bad":
                raise OSError("no answer, 4111-1111")

    @orders.step(Effect.NOTIFY, evidence="log")
    def tell(step: Step[Order], mark: Mark) -> str:
        with mark:
            return "m1"

    path = tmp_path_factory.mktemp("shop") / "shop.db"
    app = Halfway(f"sqlite:///{path}", workflows=[orders])
    with app.worker():
        for id in ("good", "bad", "dull"):
            app.result(app.start(orders, Order(id=id)), timeout=timedelta(minutes=1))
    app.close()
    return path


def read(path: Path) -> Source:
    return Source(path.as_posix(), dump(path))


def logs(source: Source) -> list[RunLog]:
    return list(DatabaseReader().runs(source, Given({}, KNOWN)))


def inspected(paths: list[Path], logs: list[Path] | None = None) -> Inspection:
    return Inspector(READERS, all_rules(), KNOWN).inspect(paths, logs or [])


def state(path: Path) -> dict[str, tuple[int, int]]:
    return {one.name: (one.stat().st_size, one.stat().st_mtime_ns) for one in path.parent.iterdir()}


def test_the_run_in_doubt_comes_first_and_tells_what_became_of_each_step(database: Path) -> None:
    first, *others = logs(read(database))
    assert {ran.step: ran.outcome for ran in first.steps} == {
        "CHARGE": Outcome.LANDED, "BOOK": Outcome.UNKNOWN, "TELL": Outcome.NOT_EXECUTED,
    }  # fmt: skip
    charge, book = (next(ran for ran in first.steps if ran.step == name) for name in ("CHARGE", "BOOK"))
    assert charge.external_id == "ch_77"
    assert book.fact.span.at == f"run {first.id}, BOOK"
    told = {"status": "UNKNOWN", "effect": "unknown", "code": "OS_ERROR", "attempt": 1, "ended": "LOST", "marked": True}
    assert json.loads(book.fact.quote) == told
    assert [[ran.outcome for ran in log.steps] for log in others] == [
        [Outcome.LANDED, Outcome.NOT_EXECUTED, Outcome.NOT_EXECUTED], [Outcome.LANDED] * 3,
    ]  # fmt: skip


def test_a_definition_is_joined_with_the_run_that_somebody_must_look_at(database: Path, tmp_path: Path) -> None:
    (tmp_path / "flow.py").write_text(FILE)
    found = inspected([tmp_path / "flow.py"], [database])
    assert found.card is not None
    assert (found.card.flow, found.card.run) == ("ORDERS", logs(read(database))[0].id)
    assert found.card.next.params == {"run": found.card.run}
    assert {line.name.partition(" ")[0]: line.outcome for line in found.card.lines}["BOOK"] is Outcome.UNKNOWN


def test_a_database_alone_has_its_definitions_and_its_runs(database: Path) -> None:
    found = inspected([database])
    assert found.card is not None
    assert (found.card.format, found.card.flow, found.card.verdict, bool(found.card.run)) == ("halfway", "ORDERS", Verdict.STOP, True)
    assert [line.span.at for line in found.card.lines] == [f"ORDERS v1.{name}" for name in ("CHARGE", "BOOK", "TELL")]
    assert found.skipped == ()


def test_no_input_no_output_and_no_message_of_an_error_is_read(database: Path) -> None:
    assert "4111" in database.read_bytes().decode("latin-1")
    assert "4111" not in dump(database)


def test_looking_changes_nothing_and_makes_no_file(database: Path) -> None:
    before = state(database)
    inspected([database], [database])
    assert state(database) == before


@pytest.fixture
def busy(database: Path, tmp_path: Path) -> Iterator[Path]:
    """A copy that another process has open, with something in its log that is not in the file yet."""
    path = tmp_path / "busy.db"
    path.write_bytes(database.read_bytes())
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("pragma journal_mode = wal")
        writer.execute("update halfway_run set version = 9")
        writer.execute("begin immediate")
        yield path


def test_what_is_being_written_is_read_beside_the_writer(busy: Path) -> None:
    before = set(state(busy))
    assert {log.version for log in logs(read(busy))} == {"9"}
    assert set(state(busy)) == before


def test_what_must_be_mended_first_is_left_alone(busy: Path, tmp_path: Path) -> None:
    for ending in ("", "-wal"):
        (tmp_path / f"torn.db{ending}").write_bytes(busy.with_name(busy.name + ending).read_bytes())
    before = state(busy)
    with pytest.raises(Unreadable, match="let halfway open it first"):
        dump(tmp_path / "torn.db")
    assert set(state(busy)) == set(before)


def test_another_database_is_told_and_not_read(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "other.db")) as other:
        other.execute("create table t (x)")
        other.commit()
    found = inspected([tmp_path / "other.db"])
    assert found.card is None
    assert [skip.why for skip in found.skipped] == [ANOTHER]


@pytest.mark.parametrize("spec", ["{", "[]", "{}", '{"type": "A", "version": 1, "owner": "o", "steps": [{"name": "B", "after": ["C"]}]}'])
def test_a_definition_that_is_broken_is_told(spec: str) -> None:
    source = Source("x.db", f'{HEAD}{{"definitions": [{json.dumps({"spec": spec})}], "runs": []}}}}')
    with pytest.raises(Unreadable):
        list(DatabaseReader().flows(source, Given({}, KNOWN)))


@pytest.mark.parametrize("value", ["zeroblob(900000000)", "printf('%.*c', 3000000, 'x')"])
def test_a_database_that_makes_great_values_when_it_is_read_is_refused(tmp_path: Path, value: str) -> None:
    with closing(sqlite3.connect(tmp_path / "a.db")) as made:
        made.execute(f"create view halfway_definition as select 1 as hash, {value} as spec, 1 as type, 1 as version, 1 as registered_at")
    with pytest.raises(Unreadable, match=ANOTHER):
        dump(tmp_path / "a.db")


def test_a_database_of_which_too_much_would_be_read_is_refused(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("halfway.inspection.databases.LARGEST", 100)
    with pytest.raises(Unreadable, match=ANOTHER):
        dump(database)
