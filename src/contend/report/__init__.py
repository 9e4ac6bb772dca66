"""The report: built from a draft, read from Markdown, shown as a page, exported."""

from contend.report.build import build_report, state_to_report

__all__ = ["build_report", "state_to_report"]
