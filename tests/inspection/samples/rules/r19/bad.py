"""Turns new rows of the feedback sheet into tickets. Cron starts it every hour."""

import os
from pathlib import Path

import psycopg
from github import Github

CURSOR = Path("/var/lib/feedback/cursor")
desk = Github(os.environ["DESK_TOKEN"])


def rows_since(number: int) -> list[tuple[int, str, str]]:
    with psycopg.connect(os.environ["DATABASE_URL"]) as db:
        return db.execute("select number, subject, body from feedback where number > %s order by number", [number]).fetchall()


def main() -> None:
    board = desk.get_repo("acme/feedback")
    last = int(CURSOR.read_text())
    rows = rows_since(last)
    for number, subject, body in rows:
        ticket = board.create_issue(title=subject, body=body)
        print("made", ticket.number)
        last = number
    CURSOR.write_text(str(last))


if __name__ == "__main__":
    main()
