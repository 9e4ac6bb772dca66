"""A LangChain tool for agents that enter as teams: `from contend.tools import search`."""

from langchain_core.tools import StructuredTool

from contend.graph_teams import search_here, search_in_thread

search = StructuredTool.from_function(
    func=search_in_thread,
    coroutine=search_here,
    name="search",
    description="Search the sources of this run, its own documents among them. Each result has its title, the "
    "reference to cite it by, and the text that was found. Ask by key words.",
)
"""Works in an agent while contend runs it as a team; elsewhere it says that it does not."""
