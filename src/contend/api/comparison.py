"""Two researches side by side."""

from contend.api.models import ResearchComparison, Side
from contend.api.researches import Researches
from contend.api.results import report, statistics


async def compared(researches: Researches, first: str, second: str) -> ResearchComparison:
    """What each came to, and which of the sources that they cite are the same.

    Raises:
        UnknownThread: one of them is not there.
    """
    one, other = await _side(researches, first), await _side(researches, second)
    urls, others = [source.url for source in one.sources], [source.url for source in other.sources]
    return ResearchComparison(
        same_question=one.research.theme.strip() == other.research.theme.strip(),
        first=one,
        second=other,
        common_sources=[url for url in urls if url in others],
        only_first=[url for url in urls if url not in others],
        only_second=[url for url in others if url not in urls],
    )


async def _side(researches: Researches, research_id: str) -> Side:
    details = await researches.details(research_id)
    written = await report(researches, details.research_id) if details.has_report else None
    return Side(
        research=details,
        statistics=await statistics(researches, research_id),
        sources=written.cited_sources() if written else [],
        executive_summary=written.executive_summary if written else "",
        key_findings=written.key_findings if written else [],
    )
