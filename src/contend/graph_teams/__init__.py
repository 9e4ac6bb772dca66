"""Graphs that somebody else wrote, as teams: loaded, run apart from contend's own, and what came of it as text."""

from contend.graph_teams.graphs import GraphRequest, TeamGraph, TeamGraphs
from contend.graph_teams.meter import ModelMeter
from contend.graph_teams.reply import reply_of, shown_step
from contend.graph_teams.searching import lend, search_here, search_in_thread

__all__ = [
    "GraphRequest",
    "ModelMeter",
    "TeamGraph",
    "TeamGraphs",
    "lend",
    "reply_of",
    "search_here",
    "search_in_thread",
    "shown_step",
]
