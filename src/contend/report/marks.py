"""The one form of a citation in a report."""

import re

MARK = re.compile(r"\[(\d+)\]")
