import json
from pathlib import Path

import pytest

from halfway.inspection.formats import Given, cloudflare_run
from halfway.inspection.formats.cloudflare import READER
from halfway.inspection.knowledge import load
from halfway.inspection.model import Bearing, Effect, Kind, Mark, OnError, Outcome, Receiver, Repeating, Starting, Step
from halfway.inspection.source import Source
from tests.inspection.small_knowledge import by_id, edges, logs, only, read
from tests.inspection.test_told_too_much import told

HEAD = """import { WorkflowEntrypoint, WorkflowEvent, WorkflowStep } from "cloudflare:workers";
import Stripe from "stripe";
export class Shop extends WorkflowEntrypoint<Env, Params> {
  async run(event: WorkflowEvent<Params>, step: WorkflowStep) {
"""
TAIL = "\n  }\n}\n"


def steps_of(body: str, *others: Source) -> dict[str, Step]:
    return by_id(only(READER, "src/shop.ts", HEAD + body + TAIL, *others))


def effect(step: Step) -> Effect:
    assert step.effect is not None
    return step.effect


def test_a_payment_without_a_key_that_is_retried_and_keeps_nothing() -> None:
    step = steps_of("""
    const paid = await step.do("payment", { retries: { limit: 10, delay: 1000 * 60 }, timeout: "30 seconds" }, async () => {
      const resp = await fetch("https://pay.example.com/", { method: "POST", body: JSON.stringify({ sum: 1 }) });
      if (!resp.ok) { throw new Error("no"); }
      return { success: true, status: resp.status };
    });""")["payment"]
    assert (step.unit, step.scope, step.span.line) == ("payment", "payment", 7)
    assert effect(step).kinds == {Kind.UNKNOWN, Kind.MONEY}
    assert not effect(step).certain
    assert step.identity is not None
    assert step.identity.bearing is Bearing.NONE
    assert [(one.kind, one.automatic, one.bound, one.default, one.span.line) for one in step.repeaters] == [
        (Repeating.STEP_RETRY, True, 10, False, 6),
        (Repeating.UNIT_RERUN, False, None, True, 3),
    ]
    assert (step.timeout, step.timeout_known, step.kept) == (30.0, True, ())
    assert [fact.span.line for fact in step.facts] == [6, 6]


def test_defaults_hold_where_nothing_is_said() -> None:
    step = steps_of("""
    const stripe = new Stripe(this.env.KEY);
    await step.do("charge", async () => {
      const made = await stripe.charges.create({ amount: 1 }, { idempotencyKey: event.payload.orderId });
      return { id: made.id };
    });""")["charge"]
    assert effect(step).action == "stripe.charge"
    assert [(one.bound, one.default) for one in step.repeaters] == [(5, True), (None, True)]
    assert step.timeout == 600.0
    assert step.identity is not None
    assert (step.identity.bearing, step.identity.expression) == (Bearing.STABLE, "event.payload.orderId")
    assert [span.line for span in step.kept] == [9]


@pytest.mark.parametrize(
    ("before", "inside", "bearing"),
    [
        ("", "const key = crypto.randomUUID();", Bearing.MINTED),
        ("const key = crypto.randomUUID();", "", Bearing.MINTED),
        ('const key = await step.do("key", async () => crypto.randomUUID());', "", Bearing.STABLE),
        ("const { key } = event.payload;", "", Bearing.STABLE),
        ("const id = event.instanceId; const key = `charge-${id}`;", "", Bearing.STABLE),
        ('const key = "always the same";', "", Bearing.UNKNOWN),
    ],
)
def test_where_a_key_comes_from(before: str, inside: str, bearing: Bearing) -> None:
    steps = steps_of(f"""
    {before}
    await step.do("charge", async () => {{
      {inside}
      return fetch("https://api.stripe.com/v1/charges", {{ method: "POST", headers: {{ "Idempotency-Key": key }} }});
    }});""")
    identity = steps["charge"].identity
    assert identity is not None
    assert (identity.bearing, identity.expression) == (bearing, "key")


@pytest.mark.parametrize(("limit", "attempts"), [("Infinity", None), ("3", 3), ("event.payload.times", 5), ("TIMES", 7)])
def test_how_often_a_step_is_tried(limit: str, attempts: int | None) -> None:
    step = steps_of(f"const TIMES = 7; await step.do('a', {{ retries: {{ limit: {limit} }} }}, async () => {{}});")["a"]
    assert (step.repeaters[0].bound, step.repeaters[0].default) == (attempts, False)


def test_an_attempt_is_no_key() -> None:
    step = steps_of("""
    await step.do("charge", async (ctx) => {
      return fetch("https://api.stripe.com/x", { method: "POST", headers: { "Idempotency-Key": `o-${ctx.attempt}` } });
    });""")["charge"]
    assert step.identity is not None
    assert step.identity.bearing is Bearing.MINTED
    assert len(step.kept) == 1


def test_several_effects_of_one_step_are_several_steps_of_one_unit() -> None:
    flow = only(
        READER,
        "shop.ts",
        HEAD
        + """
    await step.do("all", async () => {
      await fetch("https://api.stripe.com/v1/charges", { method: "POST" });
      await this.env.MAILER.send({ to: event.payload.email, text: "thanks" });
    });
    await step.sleep("rest", "1 hour");
    await step.do("look", async () => { await fetch("https://shop.example/state"); });"""
        + TAIL,
    )
    steps = by_id(flow)
    assert [(step.id, step.unit, step.order) for step in flow.steps] == [("all", "all", 0), ("all/2", "all", 1), ("look", "look", 2)]
    assert effect(steps["all/2"]).kinds == {Kind.NOTIFY}
    assert effect(steps["all/2"]).receiver is Receiver.CUSTOMER
    assert steps["all/2"].marks == {Mark.SUCCESS_NOTICE}
    assert effect(steps["look"]).kinds == {Kind.READ}
    assert edges(flow) == [("all", "all/2", "success"), ("all/2", "look", "success")]


def test_a_literal_address_is_the_teams() -> None:
    step = steps_of("""await step.do("tell", async () => { await this.env.EMAIL.send({ to: "ops@shop.example", text: "x" }); });""")["tell"]
    assert effect(step).receiver is Receiver.TEAM


@pytest.mark.parametrize(
    ("handler", "tolerant"),
    [
        ("async ({ output }) => { await fetch(`https://api.stripe.com/r/${output.id}`, { method: 'POST' }); }", False),
        ("async ({ output: { id } }) => { await fetch(`https://api.stripe.com/r/${id}`, { method: 'POST' }); }", False),
        ("async ({ output }) => { const { id } = output; await fetch(`https://api.stripe.com/r/${id}`, { method: 'POST' }); }", False),
        ("async ({ output }) => { if (!output) return; await fetch(`https://api.stripe.com/r/${output.id}`, { method: 'POST' }); }", True),
        ("async ({ output }) => { await fetch(`https://api.stripe.com/r/${output?.id}`, { method: 'POST' }); }", True),
        ("async ({ error }) => { await fetch(`https://api.stripe.com/r/${event.payload.id}`, { method: 'POST' }); }", True),
    ],
)
def test_a_rollback_that_needs_the_output_is_not_tolerant(handler: str, tolerant: bool) -> None:
    steps = steps_of(f"""
    await step.do("charge", async () => fetch("https://api.stripe.com/c", {{ method: "POST" }}), {{ rollback: {handler} }});""")
    undo = steps["charge"].undo
    assert undo is not None
    assert (undo.step, undo.tolerant, undo.reached, undo.retried) == ("charge (rollback)", tolerant, True, True)
    back = steps["charge (rollback)"]
    assert back.marks == {Mark.RECOVERY}
    assert effect(back).action == "stripe.charge"
    assert [(one.kind, one.bound) for one in back.repeaters] == [(Repeating.STEP_RETRY, 5)]


def test_rollbacks_run_backwards_on_the_way_of_a_failure() -> None:
    flow = only(
        READER,
        "shop.ts",
        HEAD
        + """
    await step.do("a", async () => { await fetch("https://a.example", { method: "PUT" }); },
      { rollback: async () => { await fetch("https://a.example", { method: "DELETE" }); }, rollbackConfig: { retries: { limit: 1 } } });
    await step.do("b", async () => { await fetch("https://b.example", { method: "PUT" }); },
      { rollback: async () => { await fetch("https://b.example", { method: "DELETE" }); } });"""
        + TAIL,
    )
    assert [step.id for step in flow.steps] == ["a", "b", "b (rollback)", "a (rollback)"]
    assert edges(flow) == [("a", "a (rollback)", "error"), ("a", "b", "success"), ("b", "b (rollback)", "error")]
    undo = by_id(flow)["a"].undo
    assert undo is not None
    assert not undo.retried


def test_a_rollback_is_dead_when_every_error_is_caught() -> None:
    steps = steps_of("""
    try {
      await step.do("charge", async () => { await fetch("https://api.stripe.com/c", { method: "POST" }); }, { rollback: async () => {} });
    } catch (error) { console.log(error); }""")
    undo = steps["charge"].undo
    assert undo is not None
    assert not undo.reached
    assert steps["charge"].on_error is OnError.CONTINUE


def test_a_catch_block_is_a_way_of_its_own() -> None:
    flow = only(
        READER,
        "shop.ts",
        HEAD
        + """
    try {
      await step.do("charge card", async () => { await fetch("https://api.stripe.com/c", { method: "POST" }); });
      await step.do("ship", async () => { await fetch("https://ship.example", { method: "POST" }); });
    } catch (error) {
      await step.do("refund card", async () => { await fetch("https://api.stripe.com/r", { method: "POST" }); });
      throw error;
    }"""
        + TAIL,
    )
    steps = by_id(flow)
    assert edges(flow) == [
        ("charge card", "ship", "success"),
        ("charge card", "refund card", "error"),
        ("ship", "refund card", "error"),
    ]
    undo = steps["charge card"].undo
    assert undo is not None
    assert (undo.step, undo.reached) == ("refund card", True)
    assert steps["refund card"].marks == {Mark.RECOVERY}
    assert [steps[name].on_error for name in ("charge card", "ship", "refund card")] == [OnError.ROUTE, OnError.ROUTE, OnError.STOP]


def test_branches_and_loops() -> None:
    flow = only(
        READER,
        "shop.ts",
        HEAD
        + """
    for (const item of event.payload.items) {
      await step.do(`book ${item.id}`, async () => { await fetch("https://b.example", { method: "POST" }); });
    }
    while (true) {
      await step.do("poll", async () => { await fetch("https://p.example", { method: "POST" }); });
      if (done) break;
    }
    if (event.payload.vip) {
      await step.do("gift", async () => { await fetch("https://g.example", { method: "POST" }); });
    } else {
      step.do("none", async () => { await fetch("https://n.example", { method: "POST" }); });
    }
    await step.do("end", async () => { await fetch("https://e.example", { method: "POST" }); });"""
        + TAIL,
    )
    steps = by_id(flow)
    assert steps["book ${item.id}"].marks == {Mark.IN_LOOP}
    assert [one.kind for one in steps["book ${item.id}"].repeaters] == [Repeating.STEP_RETRY, Repeating.UNIT_RERUN]
    assert [(one.kind, one.bound) for one in steps["poll"].repeaters][1] == (Repeating.LOOP, None)
    assert (steps["gift"].condition, steps["none"].condition) == ("event.payload.vip", "!(event.payload.vip)")
    assert (steps["none"].on_error, steps["none"].extra) == (OnError.SWALLOW, {"not_awaited": "true", "at": "16"})
    assert [edge for edge in edges(flow) if edge[1] == "end"] == [("gift", "end", "success"), ("none", "end", "success")]


def test_a_wait_whose_silence_counts_as_an_answer() -> None:
    text = """export class Ask extends AgentWorkflow<A, P> {
  async run(event: AgentWorkflowEvent<P>, step: AgentWorkflowStep) {
    try {
      const answer = await this.waitForApproval<{ by?: string }>(step, { timeout: "7 days" });
      return answer;
    } catch (_error) {
      await this.reportProgress({ status: "rejected" });
      return null;
    }
  }
}"""
    step = by_id(only(READER, "ask.ts", text))["waitForApproval"]
    assert step.gate is not None
    assert (step.gate.kind, step.gate.timeout_answers, step.gate.span.line) == ("approval", True, 4)
    assert (step.timeout, step.timeout_known, step.marks) == (604_800.0, True, {Mark.WAIT})
    looks = text.replace("await this.reportProgress", "if (!(_error instanceof Rejected)) { throw _error; } await this.reportProgress")
    gate = by_id(only(READER, "ask.ts", looks))["waitForApproval"].gate
    assert gate is not None
    assert not gate.timeout_answers


def test_an_event_is_waited_for_a_day_by_default() -> None:
    step = steps_of("""const paid = await step.waitForEvent("paid", { type: "payment-approved" });""")["paid"]
    assert (step.timeout, step.timeout_known) == (86_400.0, True)
    assert step.gate is not None
    assert (step.gate.kind, step.gate.timeout_answers) == ("approval", False)


def test_what_is_done_outside_of_steps_is_replayed() -> None:
    step = steps_of("""await fetch("https://api.stripe.com/v1/charges", { method: "POST" });""")["POST api.stripe.com"]
    assert (step.unit, [one.kind for one in step.repeaters]) == ("run", [Repeating.REPLAY, Repeating.UNIT_RERUN])


def test_functions_are_followed_in_the_file_and_in_files_that_were_given() -> None:
    body = """
    await step.do("one", async () => this.charge(event.payload.orderId));
    await step.do("two", async () => { await notify(); });"""
    extra = """
  async charge(order: string) {
    const r = await fetch("https://api.stripe.com/c", { method: "POST", headers: { "Idempotency-Key": order } });
    return r;
  }
}
"""
    text = 'import { notify } from "./notify";\n' + HEAD + body + "\n  }" + extra
    other = Source("src/notify.ts", 'export async function notify() { await fetch("https://api.stripe.com/n", { method: "POST" }); }')
    steps = by_id(only(READER, "src/shop.ts", text, other))
    assert effect(steps["one"]).action == "stripe.charge"
    assert steps["one"].identity is not None
    assert steps["one"].identity.bearing is Bearing.STABLE
    assert len(steps["one"].kept) == 1
    assert effect(steps["two"]).action == "stripe.charge"
    alone = by_id(only(READER, "src/shop.ts", text))["two"]
    assert alone.opaque is not None
    assert (alone.opaque.what, effect(alone).kinds) == ("notify", {Kind.UNKNOWN, Kind.NOTIFY})


def test_commands_of_an_sdk_and_statements_of_a_database() -> None:
    body = """
    await step.do("tell", async () => { await client.send(new PublishCommand({ TopicArn: "t" })); });
    await step.do("save", async () => { await this.env.DB.prepare("INSERT INTO orders VALUES (?)").bind(event.payload.id).run(); });
    await step.do("start", async () => { await this.env.OTHER.create({ id: event.instanceId, params: {} }); });"""
    text = 'import { PublishCommand } from "@aws-sdk/client-sns";\n' + HEAD + body + TAIL
    steps = by_id(only(READER, "shop.ts", text))
    assert effect(steps["tell"]).action == "sns.publish"
    assert effect(steps["save"]).kinds == {Kind.RECORD}
    assert effect(steps["start"]).kinds == {Kind.ENQUEUE}
    assert steps["start"].identity is not None
    assert steps["start"].identity.bearing is Bearing.STABLE


def test_fences_of_a_page_are_read_with_the_lines_of_the_page() -> None:
    page = (
        "# Pay\n\n```ts\n"
        + HEAD
        + """await step.do("pay", async () => { await fetch("https://api.stripe.com/c", { method: "POST" }); });"""
        + TAIL
        + "```\n\n```toml\nx = 1\n```\n\n```ts\nawait step.do('more', async () => {});\n```\n"
    )
    first, second = read(READER, "pay.mdx", page)
    assert [(step.id, step.span.line) for step in first.steps] == [("pay", 8)]
    assert [(step.id, step.span.line, step.effect) for step in second.steps] == [("more", 18, None)]


def test_who_creates_instances_is_a_trigger() -> None:
    text = (
        HEAD
        + TAIL
        + """export default {
  async queue(batch, env) { await env.SHOP.create({ params: { cartId: "1" } }); },
  async scheduled(c, env) { await env.SHOP.create({ id: "x" }); } };"""
    )
    flow = only(READER, "shop.ts", text)
    assert [(one.kind, one.inputs) for one in flow.triggers] == [(Starting.EVENT, ("cartId",)), (Starting.SCHEDULE, ())]


@pytest.mark.parametrize(("id", "again"), [("", True), ("id: message.id, ", False)])
def test_a_message_that_comes_twice_starts_a_second_instance_without_an_id(id: str, again: bool) -> None:
    text = HEAD + "await step.do('a', async () => {});" + TAIL
    text += "export default { async queue(batch, env) { await env.SHOP.create({ " + id + "params: {} }); } };"
    [step] = only(READER, "shop.ts", text).steps
    assert (Repeating.REDELIVERY in [one.kind for one in step.repeaters]) is again


@pytest.mark.parametrize("text", ["class A extends B {}", "const step = 1; step.go();", "{}", "class X(WorkflowEntrypoint): pass"])
def test_other_texts_are_left_alone(text: str) -> None:
    assert not READER.takes(Source("x.ts", text))


@pytest.mark.parametrize(
    "body",
    [
        "await step.do(",
        "step.do()",
        "step.do(1, 2, 3, 4); step.waitForEvent();",
        "const a = a; const b = c; const c = b;"
        "await step.do('x', async () => { await fetch(b, { method: 'POST', headers: { 'Idempotency-Key': c } }); });",
        "try { } catch { } switch (x) { case 1: await step.do('s', f); break; default: return; }",
        "[" * 400 + "]" * 400,
    ],
)
def test_whatever_the_text_says_a_flow_comes_out(body: str) -> None:
    assert [flow.format for flow in read(READER, "odd.ts", HEAD + body + TAIL)] == ["cloudflare"]


def test_an_instance_tells_what_landed() -> None:
    text = json.dumps(
        {
            "status": "errored",
            "versionId": "v1",
            "steps": [
                {"type": "step", "name": "charge-1", "start": "a", "end": "b", "success": True, "attempts": []},
                {
                    "type": "step",
                    "name": "mail-1",
                    "start": "a",
                    "end": "b",
                    "success": False,
                    "attempts": [{"error": {"message": "timed out"}}],
                },
            ],
        },
        indent=1,
    )
    [run] = logs(READER, "instance.json", text)
    assert (run.version, run.format) == ("v1", "cloudflare")
    assert [(ran.step, ran.outcome) for ran in run.steps] == [("charge", Outcome.LANDED), ("mail", Outcome.UNKNOWN)]


def test_where_a_statement_stands_is_asked_only_of_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, enclosing = list[object](), cloudflare_run._enclosing
    monkeypatch.setattr(cloudflare_run, "_enclosing", lambda node: (asked.append(node), enclosing(node))[1])
    calls = "await step.do('a', async () => { await fetch('https://a.example', { method: 'POST' }) }); f(g(h(1)));"
    source = Source("shop.ts", HEAD + "/* a */ x = 1; y = [x];" * 20 + calls + TAIL)
    assert list(READER.flows(source, Given({"shop.ts": source}, load())))
    assert len(asked) == 2


HELPERS = 'import {{ {0} }} from "./helpers";\n'
INSIDE = """
    await step.do("one", {{ retries: {{ limit: 3, delay: "5 seconds" }} }}, async () => {{
      {0}
    }});"""


def heard(tmp_path: Path, helper: str, inside: str) -> dict[str, list[str]]:
    return told(tmp_path, "src/shop.ts", HELPERS.format(helper) + HEAD + INSIDE.format(inside) + TAIL)


def test_what_a_step_keeps_to_itself_is_not_tried_again(tmp_path: Path) -> None:
    caught = "try { await restock(1); } catch (err) { console.warn(err); }"
    assert heard(tmp_path, "restock", caught)["R-44"] == ["MEDIUM"]
    assert heard(tmp_path, "restock", caught.replace("console.warn(err)", "throw err"))["R-44"] == ["HIGH"]
    assert heard(tmp_path, "restock", f"{caught} await restock(2);")["R-44"] == ["HIGH"]


def test_a_key_that_is_handed_to_what_was_not_given(tmp_path: Path) -> None:
    handed = "await restock({ idempotencyKey: event.payload.key });"
    assert heard(tmp_path, "restock", handed)["R-44"] == ["MEDIUM"]
    assert heard(tmp_path, "restock", handed.replace("event.payload.key", "crypto.randomUUID()"))["R-44"] == ["HIGH"]


def test_a_helper_that_is_given_a_time_waits(tmp_path: Path) -> None:
    assert "R-44" not in heard(tmp_path, "sleep", "await sleep(soon);")
    assert "R-44" in heard(tmp_path, "sleep", "const slept = await sleep(soon);")
    assert "R-44" in heard(tmp_path, "restock", "await restock(soon);")


def test_the_hook_of_the_own_people_is_a_setting(tmp_path: Path) -> None:
    told_them = heard(tmp_path, "sendNotification", "const to = this.env.CHAT_WEBHOOK_URL; await sendNotification(to, sum);")
    assert (told_them["R-01"], "R-44" in told_them, "R-32" in told_them) == (["MEDIUM"], False, False)
    told_others = heard(tmp_path, "sendNotification", "const to = event.payload.email; await sendNotification(to, sum);")
    assert (told_others["R-01"], told_others["R-44"], "R-32" in told_others) == (["HIGH"], ["HIGH"], True)
