"""The daily report: git log of a business day -> Markdown file -> Notion page, exactly once.

An application of `halfway` that uses nothing but its public names. Start reading at `workflow.py`.
"""
