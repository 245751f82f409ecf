"""Onboarding of a customer, started by the CRM."""

from datetime import timedelta

from temporalio import workflow
from temporalio.common import RetryPolicy

with workflow.unsafe.imports_passed_through():
    from activities import charge_deposit, open_account


THREE = RetryPolicy(maximum_attempts=3)
ONCE = RetryPolicy(maximum_attempts=1)


@workflow.defn
class Onboarding:
    @workflow.run
    async def run(self, customer_id: str) -> str:
        account = await workflow.execute_activity(open_account, customer_id, start_to_close_timeout=timedelta(minutes=2), retry_policy=ONCE)
        charge = await workflow.execute_activity(charge_deposit, customer_id, start_to_close_timeout=timedelta(seconds=30), retry_policy=THREE)
        return f"{charge} {account}"
