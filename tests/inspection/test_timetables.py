import pytest

from halfway.inspection.formats.durations import seconds
from halfway.inspection.formats.systemd import READER as SYSTEMD
from halfway.inspection.formats.timetables import READER, period_of
from halfway.inspection.model import Kind, OnError, Repeating, Starting
from halfway.inspection.source import Source
from tests.inspection.small_knowledge import by_id, edges, only, read

CRONTAB = """# what runs at night
MAILTO=ops@shop.example
*/5 * * * * /opt/send_invoices.sh
0 3 * * 1-5 flock -n /tmp/close.lock timeout 10m curl -X POST https://api.stripe.com/v1/close && git push origin main
MAILTO=""
@reboot cd /srv && mail -s started ops@shop.example > /dev/null 2>&1 || true
"""


def test_a_line_without_a_lock_over_a_script_that_was_not_given() -> None:
    flow = read(READER, "crontab", CRONTAB)[0]
    [step] = flow.steps
    assert (flow.id, flow.span.line, flow.guards) == ("crontab: send_invoices.sh", 3, ())
    assert [(one.kind, one.period) for one in flow.triggers] == [(Starting.SCHEDULE, 300.0)]
    assert step.opaque is not None
    assert step.opaque.what == "/opt/send_invoices.sh"
    assert step.effect is not None
    assert step.effect.kinds == {Kind.UNKNOWN, Kind.MONEY}
    assert [(one.kind, one.automatic) for one in step.repeaters] == [(Repeating.SCHEDULE, True), (Repeating.UNIT_RERUN, False)]
    assert flow.failure_notice is not None
    assert flow.failure_notice.line == 2
    assert "ops@" not in step.quote


def test_a_line_that_is_called_after_an_address_hides_what_is_secret_in_it() -> None:
    flow = read(READER, "crontab", "* * * * * https://hooks.slack.com/services/T0AB1/B0CD2/zzYYxx99.lock\n")[0]
    assert "zzYY" not in flow.id + flow.name
    [step] = read(READER, "crontab", "* * * * * /opt/send.sh /srv/jane.doe%40shop.example\n")[0].steps
    assert "jane" not in step.name + step.quote


def test_a_lock_a_limit_and_two_commands() -> None:
    flow = read(READER, "crontab", CRONTAB)[1]
    assert [(one.group, one.queues) for one in flow.guards] == [("/tmp/close.lock", False)]
    first, second = flow.steps
    assert (first.effect is not None and first.effect.action, first.timeout) == ("stripe.charge", 600.0)
    assert (second.effect is not None and second.effect.action, second.timeout) == ("git.push", None)
    assert edges(flow) == [(first.id, second.id, "success")]
    assert [one.period for one in flow.triggers] == [86_400.0]


def test_what_is_thrown_away_tells_nobody() -> None:
    flow = read(READER, "crontab", CRONTAB)[2]
    [step] = flow.steps
    assert step.on_error is OnError.SWALLOW
    assert (flow.failure_notice, flow.evidence_off) == (None, flow.span)
    assert step.repeaters[0].kind is Repeating.RESTART


def test_a_script_that_was_given_is_read() -> None:
    script = Source(
        "opt/send_invoices.sh", "#!/bin/sh\nset -e\ncurl -X POST \\\n  https://api.stripe.com/v1/invoices\nmake -C /srv\ngit push\n"
    )
    flow = read(READER, "crontab", CRONTAB, script)[0]
    assert [(step.name, step.span.file, step.span.line, step.effect is not None) for step in flow.steps] == [
        ("curl POST https://api.stripe.com/v1/invoices", "opt/send_invoices.sh", 3, True),
        ("make /srv", "opt/send_invoices.sh", 5, False),
        ("git push", "opt/send_invoices.sh", 6, True),
    ]
    assert flow.unread == ()


def test_the_user_of_a_system_wide_table_is_no_command() -> None:
    flow = only(READER, "etc/cron.d/shop", "7 * * * * www-data git push\n")
    assert [step.name for step in flow.steps] == ["git push"]


@pytest.mark.parametrize(
    ("schedule", "period"),
    [
        ("*/5 * * * *", 300.0),
        ("0 9,17 * * *", 28_800.0),
        ("@daily", 86_400.0),
        ("@reboot", None),
        ("99 * * * *", None),
        ("0 0 31 2 *", None),
    ],
)
def test_the_shortest_time_between_two_starts(schedule: str, period: float | None) -> None:
    assert period_of(schedule) == period


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("30 seconds", 30.0), ("PT10M", 600.0), ("P1DT2H", 93_600.0), ("1h 30min", 5_400.0), ("1m30s", 90.0), ("90", 90.0),
        ("7 days", 604_800.0), ("500ms", 0.5), ("", None), ("soon", None), ("infinity", None), ("P", None),
    ],
)  # fmt: skip
def test_how_long_something_is(text: str, length: float | None) -> None:
    assert seconds(text) == length


SERVICE = """[Unit]
Description=Close the books
OnFailure=alert@%n.service
[Service]
Type=oneshot
Restart=on-failure
TimeoutStartSec=5min
ExecStartPre=/usr/bin/mkdir -p /run/books
ExecStart=/usr/bin/curl -X POST \\
  https://api.stripe.com/v1/close
ExecStartPost=-/usr/bin/git push
"""
TIMER = "[Timer]\nOnCalendar=*:0/15\nPersistent=true\n[Install]\nWantedBy=timers.target\n"


def test_a_service_with_its_timer() -> None:
    flow = only(
        SYSTEMD, "books.service", SERVICE.replace("/usr/bin/curl", "curl").replace("/usr/bin/git", "git"), Source("books.timer", TIMER)
    )
    steps = by_id(flow)
    assert (flow.id, flow.name, flow.format) == ("books", "Close the books", "systemd")
    assert [step.effect.action for step in flow.steps if step.effect] == ["stripe.charge", "git.push"]
    step = steps["books: curl POST https://api.stripe.com/v1/close"]
    assert (step.span.line, step.span.end, step.timeout) == (9, 10, 300.0)
    assert [(one.kind, one.automatic, one.span.file, one.span.line) for one in step.repeaters] == [
        (Repeating.RESTART, True, "books.service", 6),
        (Repeating.UNIT_RERUN, False, "books.service", 9),
        (Repeating.SCHEDULE, True, "books.timer", 2),
    ]
    assert step.extra == {"restart": "on-failure", "type": "oneshot", "persistent": "true"}
    assert [(one.group, one.queues) for one in flow.guards] == [("books.service", False)]
    assert flow.failure_notice is not None
    assert flow.failure_notice.line == 3
    assert [one.period for one in flow.triggers] == [900.0]


def test_a_timer_beside_its_service_says_nothing_of_its_own() -> None:
    assert read(SYSTEMD, "books.timer", TIMER, Source("books.service", SERVICE)) == []
    flow = only(SYSTEMD, "books.timer", TIMER)
    assert ([unread.what for unread in flow.unread], flow.steps) == (["books.service"], ())


def test_a_server_is_no_automation() -> None:
    assert read(SYSTEMD, "web.service", "[Service]\nExecStart=/usr/bin/nginx\nRestart=always\n") == []


@pytest.mark.parametrize(
    "text", ["", "# nothing\n", "1 2 3 4 5 words\n", "* * * * *\n", "- a\n- b\n", "[Service]\nType=oneshot\n", "A=1\n"]
)
def test_other_texts_are_left_alone(text: str) -> None:
    assert not SYSTEMD.takes(Source("x", text))
    assert not READER.takes(Source("x", text))


def test_a_command_that_only_the_run_knows_is_unknown() -> None:
    flow = only(READER, "crontab", "@daily $JOB now # nightly\n")
    [step] = flow.steps
    assert step.effect is not None
    assert (step.effect.kinds, step.effect.certain) == (frozenset({Kind.UNKNOWN}), False)
    assert step.opaque is not None
    assert (step.opaque.what, step.opaque.why) == ("$JOB", "which command {what} is, only the run knows")


@pytest.mark.parametrize(
    "command", ["'", "&& ||", "flock", "timeout", "sh -c", "sh -c 'sh -c \"git push\"'", "(git push)", "$CMD %x%y", "> /dev/null"]
)
def test_whatever_a_command_says_a_flow_comes_out(command: str) -> None:
    assert only(READER, "crontab", f"* * * * * {command}\n").format == "crontab"


@pytest.mark.parametrize("line", ["perl -wle 'print 1'", "python3 -c 'print(1)'", "node --eval 'f()'"])
def test_code_that_stands_in_the_command_is_no_file_that_is_missing(line: str) -> None:
    assert [step.opaque for flow in read(READER, "crontab", f"0 3 * * * {line}\n") for step in flow.steps] == []
