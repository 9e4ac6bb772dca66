"""The graph `research`: one round's research, in a team or on its own.

Each node, what it does, and what comes next: → one of these, ⇒ one for each, side by side.

    start                                                 → open_run, supervise
    open_run       on its own: settles theme and options  → set_parts, find_passages
    find_passages  without a model: the nearest passages  → end
    set_parts      the parts of the question              → supervise
    supervise      a step, or what is next  ⇒ search, find, read, → approve_plan, collect, screen, review, end
    approve_plan   a person looks at parts and actions    ⇒ search, find, read, or → approve_plan, supervise
    search         one query at one source                → collect
    find           literal words over all documents       → collect
    read           a section, a neighbourhood or a page   → collect
    collect        adds to the evidence                   → supervise, review
    screen         which passages speak to AI systems     → write
    write          the draft; what it says is not found   ⇒ search, find, read, or → mend, supervise
    mend           what code refutes of it, anew          ⇒ search, find, read, or → supervise
    review         accepts, mends or looks something up   ⇒ search, find, read, or → supervise

`build_research_graph` adds them; the state is in `contend.research.state`.
"""

from contend.agent_server import served_graph

graph = served_graph("research")
