"""The graph `research`: one round's research, in a team or on its own.

Each node, what it does, and what comes next: → one of these, ⇒ one for each, side by side.

    start                                                 → open_run, supervise
    open_run       on its own: settles theme and options  → supervise, find_passages
    find_passages  without a model: the nearest passages  → end
    supervise      plans, and alone says what is next     ⇒ search, or → approve_plan, collect, write, review, end
    approve_plan   a person looks at the plan             ⇒ search, or → approve_plan, supervise, collect
    search         one query at one source                → collect
    collect        adds to the evidence                   ⇒ read_page, write_section, or → choose, write, supervise
    read_page      one page or paper in full              → collect
    choose         which passages serve which point       ⇒ search, write_section, or → write
    write          the draft as a whole                   → review, supervise
    write_section  one section of a long report           → summarize
    summarize      summary, findings and limits           → review, supervise
    review         accepts, or says what to mend          → supervise

`build_research_graph` adds them; the state is in `contend.research.state`.
"""

from contend.agent_server import served_graph

graph = served_graph("research")
