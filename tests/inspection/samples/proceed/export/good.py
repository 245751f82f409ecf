#!/usr/bin/env python3
"""Puts the day's export into the bucket. `python export.py 2026-11-30`; the same day twice gives the same object."""

import csv
import io
import os
import sys

import boto3
import psycopg
from botocore.config import Config

BUCKET = "acme-exports"


def rows(day: str) -> list[tuple[str, int]]:
    with psycopg.connect(os.environ["DATABASE_URL"], connect_timeout=10) as db:
        return db.execute("select sku, sold from sales where day = %s order by sku", [day]).fetchall()


def export(day: str) -> None:
    text = io.StringIO()
    csv.writer(text).writerows(rows(day))
    s3 = boto3.client("s3", config=Config(connect_timeout=5, read_timeout=60))
    done = s3.put_object(Bucket=BUCKET, Key=f"sales/{day}.csv", Body=text.getvalue())
    print(done["ETag"])


if __name__ == "__main__":
    export(sys.argv[1])
