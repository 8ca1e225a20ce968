"""The other process: serves the fact checker over HTTP."""

import sys

import uvicorn

from actum import Agent, models
from actum.serving import Served

model = models.Scripted(
    [{"calls": [], "output": {"verdict": "holds", "why": "the tide tables say so"}}], repeat_last=True
)
app = Served({"checker": "remote.json"}, agent=Agent(model), store="remote.db")
uvicorn.run(app.app(token="a remote secret, long enough"), port=int(sys.argv[1]), log_level="warning")
