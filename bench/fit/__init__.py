"""What fits into one answer: tasks of AgentDojo, planned and carried out by Actum. `python -m bench.fit` says how."""
