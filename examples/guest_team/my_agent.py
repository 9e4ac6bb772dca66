"""A ReAct agent, lent contend's tools: they act in the team's sources, so that what it cites can be checked."""

from langchain.agents import create_agent
from langchain_openai import ChatOpenAI

from contend.tools import find, read, search

agent = create_agent(
    ChatOpenAI(model="gpt-5-mini"),
    tools=[search, find, read],
    system_prompt="Search first, read what matters, then write a report that names the reference of each fact.",
)
