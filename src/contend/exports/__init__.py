"""A stored run as files for others: its report in every format, its scores as a table."""

from contend.exports.files import MEDIA, ReportFormat, report_file, scores_csv

__all__ = ["MEDIA", "ReportFormat", "report_file", "scores_csv"]
