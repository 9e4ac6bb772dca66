"""Graphs that somebody else wrote, as teams: loaded, run apart from contend's own, and what came of it as text."""

from contend.graph_teams.graphs import GraphRequest, TeamGraph, TeamGraphs, reply_of, shown_step
from contend.graph_teams.running import ModelMeter

__all__ = ["GraphRequest", "ModelMeter", "TeamGraph", "TeamGraphs", "reply_of", "shown_step"]
