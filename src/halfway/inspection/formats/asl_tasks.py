"""What a Task state of ASL does: its effect, who is told, which key it carries, and whether its code can be read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from halfway.inspection.formats.wording import bearing, is_approval, named, opaque_effect
from halfway.inspection.knowledge import Knowledge
from halfway.inspection.knowledge.sql import row_of
from halfway.inspection.model import Bearing, Effect, Identity, Kind, Receiver, Repeat, Unread
from halfway.inspection.quoting import quoted
from halfway.inspection.source import Node

NAME = "step-functions"
_SERVICE = re.compile(r"^arn:[\w-]+:states:[^:]*:[^:]*:([\w-]+(?::[\w-]+)*?)(?:\.sync(?::2)?|\.waitForTaskToken)?$")
_GAPS = re.compile(r"\$\{[^{}]*\}")
_KEY = re.compile(
    r"(?i)^(?:client_?(?:request_?)?token|(?:x-)?idempoten\w*[-_]?(?:key|token)?|message_?deduplication_?id|paypal-request-id)(?:\.\$)?$"
)
_STABLE = re.compile(r"\$\$\.Execution|\$states\.context\.Execution|\$states\.input|\$\.\w|\$[a-z]\w*")
_QUEUES = frozenset({"events:putEvents", "sqs:sendMessage", "kinesis:putRecord"})
_MODEL = "https://api.openai.com/v1/chat/completions"
_PARENT = "AWS_STEP_FUNCTIONS_STARTED_BY_EXECUTION_ID"  # what ties two executions together in the console
_OWN_END = re.compile(r"^(?:MaxRuntimeInSeconds|Timeout(?:InMinutes|InSeconds|Minutes|Seconds)?|AttemptDurationSeconds)(?:\.\$)?$")
_EXECUTION = re.compile(r"\$\$\.Execution\.(?:Id|Name)|\$states\.context\.Execution\.(?:Id|Name)")
_ADDRESS = re.compile(r"^(?:PhoneNumber|ToAddresses|CcAddresses|DestinationPhoneNumber|To|Recipient)(?:\.\$)?$")
_NAME = re.compile(r"\[['\"]([^\[\]]*)['\"]\]$")
_FORMAT = re.compile(r"^States\.Format\(\s*'([^']*)'")
_DYNAMIC = re.compile(r"^\$|\{%")
_FUNCTION = re.compile(r":function:([\w${}.-]+)")
_QUERY = "athena:startQueryExecution"
# A query, and jobs that their service ends after hours, unless the job says otherwise.
_ENDED = (_QUERY, "glue:startJobRun", "emr-serverless:startJobRun", "codebuild:startBuild")
_DESCRIBES = re.compile(r"(?i)\s*desc(?:ribe)?\b")


def effect_of(node: Node, knowledge: Knowledge) -> Effect | None:
    """The effect of a Task; one whose code is elsewhere is unknown."""
    resource = node.get("Resource").text
    name = _name(node)
    service = _service(resource)
    if service in ("http:invoke", "apigateway:invoke"):
        return _request(node, knowledge, name)
    if _asks_person(node):
        return None
    row = _row(node) if not service else ""
    if row:
        return knowledge.node(NAME, f"arn:aws:states:::dynamodb:{row}")
    if opaque_of(node) is not None:
        return opaque_effect(quoted(service or resource), name, _function(node))
    found = knowledge.node(NAME, resource)
    if found is None:
        return opaque_effect(quoted(service or resource), name)
    if service.endswith(_QUERY) and _only_asks(given_to(node).get("QueryString").text):
        return knowledge.effect("read", found.told)
    if service.endswith(":updateItem"):
        found = _update(found, given_to(node).get("UpdateExpression").text)
    return replace(found, receiver=_receiver(node)) if Kind.NOTIFY in found.kinds else found


def identity_of(node: Node, effect: Effect | None) -> Identity | None:
    """The key that a Task sends along."""
    if effect is None or not effect.outward:
        return None
    service = _service(node.get("Resource").text)
    for key, value in entries(given_to(node)):
        if _KEY.match(key) or (key.removesuffix(".$") == "Name" and service.endswith(":startExecution")):
            return Identity(bearing(value.text, _STABLE), quoted(value.text), value.span)
    handed = entries(given_to(node))
    said = next((value for key, value in handed if _EXECUTION.search(value.text) and not key.startswith(_PARENT)), None)
    if said is not None and (service in _QUEUES or service.startswith("states:startExecution")):
        return Identity(Bearing.STABLE, quoted(said.text), said.span)  # whoever takes it can tell a second one by it
    if opaque_of(node) is not None:
        return Identity(Bearing.UNKNOWN, "", node.get("Resource").span)
    return Identity(Bearing.NONE, "", node.get("Resource").span)


def opaque_of(node: Node) -> Unread | None:
    """The code of a function or an activity, which a definition only names."""
    resource = node.get("Resource")
    service = _service(resource.text)
    if service and service != "lambda:invoke" and not service.endswith("lambda:invoke") and not service.startswith("activity:"):
        return None
    if _asks_person(node) or (not service and _row(node)):
        return None  # a template puts the service in
    what = _function(node) or (_name(node) if service.endswith("lambda:invoke") else resource.text)
    return Unread(quoted(what), "the code of {what} was not given", resource.span)


def names_no_function(node: Node) -> bool:
    """Whether it calls a function and does not say which: the definition is not finished, and fails when it gets there."""
    called = any(given_to(node).get(key).there for key in ("FunctionName", "FunctionName.$"))
    return _service(node.get("Resource").text).endswith("lambda:invoke") and not called


def _asks_person(node: Node) -> bool:
    """Whether it waits for the answer of a person, whom no code stands for."""
    return ":activity:" in node.get("Resource").text and is_approval(f"{_name(node)} {node.get('Resource').text}")


def _row(node: Node) -> str:
    """What is done to a row, where the service is a name that a template fills and what it is given shows it."""
    given = given_to(node)
    if not given.get("TableName") or not _GAPS.search(node.get("Resource").text):
        return ""
    return "putItem" if given.get("Item") else "updateItem" if given.get("UpdateExpression") else ""


def ends_by_itself(node: Node) -> bool:
    """Whether what is started has a limit of time of its own: a query and some jobs always, anything else where it is given one."""
    return _service(node.get("Resource").text).endswith(_ENDED) or any(_OWN_END.match(key) for key, _ in entries(given_to(node)))


def _only_asks(query: str) -> bool:
    """Whether the text of a query changes nothing; of one that comes from data nobody knows."""
    return not query.startswith("{%") and (row_of(query) == "read" or _DESCRIBES.match(query) is not None)


def _service(resource: str) -> str:
    """`sns:publish`, also of `arn:aws:states:::sns:publish.sync`; empty for the address of a function."""
    match = _SERVICE.match(_GAPS.sub("x", resource))
    return match[1] if match else ""


def given_to(node: Node) -> Node:
    """What a Task hands over."""
    return node.get("Arguments") if node.get("Arguments") else node.get("Parameters")


def _name(node: Node) -> str:
    quoted_name = _NAME.search(node.span.at)
    return quoted_name[1] if quoted_name else node.span.at.rpartition(".")[2]


def _function(node: Node) -> str:
    return given_to(node).get("FunctionName").text or given_to(node).get("FunctionName.$").text


def function_of(node: Node) -> str:
    """The plain name of the function that is called: `quote` of `arn:…:function:quote:$LATEST`."""
    named = _function(node) or node.get("Resource").text
    match = _FUNCTION.search(named)
    return match[1] if match else "" if named.startswith("arn:") else named


def _request(node: Node, knowledge: Knowledge, name: str) -> Effect | None:
    given = given_to(node)
    method = given.get("Method").text or "POST"  # one that comes from data may write
    url = given.get("ApiEndpoint").text or _address(given.get("ApiEndpoint.$").text)
    path = given.get("Path").text
    if given.get("RequestBody", "messages") and (given.get("RequestBody", "model") or given.get("RequestBody", "model.$")):
        method, url, path = "POST", _MODEL, ""  # a conversation with a model, whoever serves it
    return named(knowledge.http(method.upper(), url + path), name, path, url)


def _address(expression: str) -> str:
    """The address that an expression puts together; of one that only names a field nothing is known."""
    match = _FORMAT.match(expression)
    return match[1] if match else expression


def _update(effect: Effect, expression: str) -> Effect:
    """An update that sets values may come twice; one that adds may not."""
    if re.search(r"(?i)\bADD\b|[\w#.:)]\s*[+-]\s*[\w#.:(]|list_append", expression):
        return replace(effect, repeat=Repeat.DUPLICATES)
    return replace(effect, repeat=Repeat.SAFE) if re.match(r"(?i)\s*(?:SET|REMOVE)\b", expression) else effect


def _receiver(node: Node) -> Receiver:
    for key, value in entries(given_to(node)):
        if _ADDRESS.match(key):
            texts = [one.text for one in value.each()]
            return Receiver.CUSTOMER if key.endswith(".$") or any(_DYNAMIC.search(text) for text in texts) else Receiver.TEAM
    return Receiver.UNKNOWN


def entries(node: Node, depth: int = 0) -> Iterator[tuple[str, Node]]:
    """Every key below a value, with what stands there."""
    for key, value in node.items():
        yield key, value
        if depth < 4:
            for one in value.each():
                yield from entries(one, depth + 1)
