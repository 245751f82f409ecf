"""Onboarding of a customer, started by the CRM."""

from datetime import timedelta

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from activities import charge_deposit, open_account


@workflow.defn
class Onboarding:
    @workflow.run
    async def run(self, customer_id: str) -> str:
        charge = await workflow.execute_activity(charge_deposit, customer_id, start_to_close_timeout=timedelta(seconds=30))
        account = await workflow.execute_activity(open_account, customer_id, start_to_close_timeout=timedelta(minutes=2))
        return f"{charge} {account}"
