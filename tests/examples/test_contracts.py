"""What `halfway check` says about the examples, which others will copy."""

from __future__ import annotations

from typing import Any

import pytest

from examples import create_application, deploy, lead_intake, order_status
from halfway import Workflow
from halfway.domain.check import check

ALL = [create_application.create_application, deploy.deploy, lead_intake.intake, lead_intake.upgrade, order_status.order_status]


@pytest.mark.parametrize("workflow", ALL, ids=lambda workflow: workflow.name)
def test_no_contract_has_a_hole_and_nothing_is_recommended(workflow: Workflow[Any]) -> None:
    assert [finding for finding in check(workflow.spec) if finding.level != "note"] == []
