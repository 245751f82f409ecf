"""Keeps the month's statements. Owned by billing."""

from datetime import datetime, timedelta

import boto3
import requests
from airflow.decorators import dag, task


def tell_billing(context) -> None:
    requests.post("https://chat.acme.example/hooks/billing", json={"text": str(context["exception"])}, timeout=10)


@dag(
    schedule="0 6 1 * *",
    start_date=datetime(2026, 1, 1),
    catchup=False,
    max_active_runs=1,
    on_failure_callback=tell_billing,
    default_args={"retries": 3, "retry_delay": timedelta(minutes=5), "execution_timeout": timedelta(minutes=10)},
)
def statements():
    @task
    def fetch() -> str:
        return requests.get("https://crm.acme.example/statements", timeout=30).text

    @task
    def keep(text: str, ds: str = "") -> None:
        boto3.client("s3").put_object(Bucket="acme-statements", Key=f"{ds}.csv", Body=text)

    keep(fetch())


statements()
