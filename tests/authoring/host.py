"""A host without an engine: it gives what it was told to give, and remembers what it was asked for."""

from dataclasses import dataclass, field
from hashlib import sha256

from halfway.authoring.step import Failure
from halfway.errors import AttemptEnded, MarkRefused


@dataclass
class FakeHost:
    """One attempt, as a test wants it."""

    run_id: str = "r1"
    step_name: str = "CREATE"
    attempt: int = 1
    correlation_id: str = "c1"
    key: str = "r1:CREATE"
    input: str = '{"id": "x"}'
    outputs: dict[str, str] = field(default_factory=dict)
    ended: bool = False
    refused: bool = False
    asked: list[str] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)
    content: dict[str, bytes] = field(default_factory=dict)
    looks: bool = False
    emitted: list[tuple[str, str, str]] = field(default_factory=list)
    failure: Failure | None = None
    drafted: str | None = None

    def input_text(self) -> str:
        self.asked.append("input")
        return self.input

    def output_text(self, step: str, /) -> str | None:
        self.asked.append(f"output {step}")
        return self.outputs.get(step)

    def ensure_running(self) -> None:
        if self.ended:
            raise AttemptEnded("ATTEMPT_ENDED", attempt=1, step=self.step_name, run=self.run_id, reason="timed out")

    def remaining(self) -> float:
        return -1.0 if self.ended else 12.5

    def cancel_requested(self) -> bool:
        return False

    def evidence(self, facts_json: str, /) -> None:
        self.facts.append(facts_json)

    def save(self, name: str, content: bytes, /) -> tuple[str, str, int]:
        self.content[f"a{len(self.content)}"] = content
        return f"a{len(self.content) - 1}", sha256(content).hexdigest(), len(content)

    def read(self, artifact_id: str, name: str, /) -> bytes:
        return self.content[artifact_id]

    def may_emit(self) -> bool:
        return not self.looks

    def emit(self, event: str, key: str, payload_json: str, /) -> None:
        self.emitted.append((event, key, payload_json))

    def cause(self) -> Failure | None:
        return self.failure

    def draft_text(self) -> str | None:
        return self.drafted

    def take_mark(self) -> None:
        self.asked.append("mark")
        if self.refused:
            raise MarkRefused("MARK_REFUSED", step=self.step_name, run=self.run_id, reason="The run is being cancelled.")

    async def atake_mark(self) -> None:
        self.take_mark()
