"""The graph `contend`: teams answer one question in competing rounds, and the best report is published.

Each node, what it does, and what comes next: → one of these, ⇒ one for each, side by side.

    start                                               → open_run
    open_run        settles options, refuses bad input  → set_criteria
    set_criteria    what a very good report has         ⇒ team
    team            a team's rounds: team.py            → find_near_ties, or → choose_step
    choose_step     what follows, with the depth auto   ⇒ team, compare_pair, or → synthesize, pick_winner
    find_near_ties  whose best scores are nearly equal  → synthesize, ⇒ compare_pair, or → pick_winner
    synthesize  merges ⇒ look_up, score_merged, compare_merged, collect_looks, review_merged, mend_merged, choose_report
    look_up         what editor or reviewer wants to see → collect_looks
    collect_looks   adds it to the passages             → synthesize, review_merged
    review_merged   a last review  ⇒ score_merged, compare_merged, look_up, → collect_looks, mend_merged, choose_report
    mend_merged     what it wants mended                ⇒ score_merged, compare_merged, → choose_report
    score_merged    one metric of the merged report     → choose_report
    compare_merged  with the best team's, in one order  → choose_report
    choose_report   the merged one, unless it is worse  ⇒ compare_pair, or → pick_winner
    compare_pair    two reports, in one order           → pick_winner
    pick_winner     the first of the ranking            → approve_report, publish, finish_run
    approve_report  a person looks at it                → approve_report, revise_report, publish, finish_run
    revise_report   its writer mends it, at most once   → approve_report
    publish         citations, references, files        → learn, finish_run
    learn           the run's lessons: learning.py      → finish_run
    finish_run      status and message                  → end

`build_contest_graph` adds them; the state is in `contend.contest.state`.
"""

from contend.agent_server import served_graph

graph = served_graph("contend")
