"""The graph `team`: one team plays its rounds, in a contest or on its own.

Each node, what it does, and what comes next: → one of these, ⇒ one for each, side by side.

    start                                                              → open_run, brief
    open_run       on its own: settles theme and options               → set_criteria
    set_criteria   on its own: what a very good report has             → brief
    brief          question, lessons, scores so far, in one text       → research, search, foreign_graph, finish_run
    research       a round's research: research.py                     → submit
    search         without a language model: the nearest passages      → submit
    foreign_graph  a graph that somebody else wrote                    → submit
    submit         puts the submission on record                       ⇒ score_metric, or → evaluate
    score_metric   one metric, or several that one call judges         → evaluate
    evaluate       score, feedback, and whether a rule stops the team  → brief, judge, finish_run, end
    judge          is another round worth it?                          → brief, finish_run, end
    finish_run     on its own: the best report as the answer           → end

`build_team_graph` adds them, one for each kind of team; the state is in `contend.team.state`.
"""

from contend.agent_server import served_graph

graph = served_graph("team")
