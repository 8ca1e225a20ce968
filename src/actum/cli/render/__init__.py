"""How runs, plans and findings are shown on a terminal, in lines or as drawings."""
