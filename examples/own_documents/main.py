"""Ask a question of a folder of your own: python examples/own_documents/main.py [FOLDER QUESTION]."""

import asyncio
import sys

import contend

folder, question = sys.argv[1:] or ["demo/documents", "Why were crossings of the Skarv cancelled in winter?"]
outcome = asyncio.run(contend.run(question, options=contend.RunOptions(documents=[folder])))
print(outcome.markdown or outcome.message)
