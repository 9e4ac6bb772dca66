"""Reports: build them from drafts, read them from Markdown, render them as pages, export them."""

from contend.report.build import PublishedLine, PublishedMark, build_report, published_lines, state_to_report
from contend.report.changes import StatementChanges, statement_changes
from contend.report.data import to_bibtex, to_json
from contend.report.head import ReportHead, TeamScores, head_markdown
from contend.report.html import PAGE_POLICY, PROOF_SCRIPT, PROOF_STYLE, to_html
from contend.report.ledger import LedgerPassage, LedgerStatement, Origin, PublishedReport, proof_in, with_ledger
from contend.report.plain import with_joined_marks
from contend.report.reading import Reference, ReferencedText, read_draft, read_references
from contend.report.references import published_markdown

__all__ = [
    "PAGE_POLICY", "PROOF_SCRIPT", "PROOF_STYLE", "LedgerPassage", "LedgerStatement", "Origin", "PublishedLine",
    "PublishedMark", "PublishedReport", "Reference", "ReferencedText", "ReportHead", "StatementChanges", "TeamScores",
    "build_report", "head_markdown", "proof_in", "published_lines", "published_markdown", "read_draft",
    "read_references", "state_to_report", "statement_changes", "to_bibtex", "to_html", "to_json", "with_joined_marks",
    "with_ledger",
]  # fmt: skip
