"""The graph `learn`: what a run taught goes into the playbook of its dataset.

Each node, what it does, and what comes next: → one of these, ⇒ one for each, side by side.

    start                                                      → reflect
    reflect        draws lessons from the rounds               → curate
    curate         turns them into operations on the playbook  → approve_delta, apply_delta
    approve_delta  a person looks at the operations            → approve_delta, apply_delta
    apply_delta    carries them out, saves a version           → end

`build_learn_graph` adds them; the state is in `contend.learning.graph`.
"""

from contend.agent_server import served_graph

graph = served_graph("learn")
