"""Graphs that somebody else wrote, as teams: loaded, run apart from contend's own, and what came of it as text."""

from contend.graph_teams.graphs import TeamGraph, TeamGraphs
from contend.graph_teams.meter import ModelMeter
from contend.graph_teams.reply import reply_of, shown_step

__all__ = ["ModelMeter", "TeamGraph", "TeamGraphs", "reply_of", "shown_step"]
