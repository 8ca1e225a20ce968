"""The Studio: Ideas and their runs in a browser, on one's own machine, and a run as one file.

Pages are rendered here, by templates that escape everything, and readable without a script. What a run holds is data:
it is shown, and never becomes a link, a picture or a script. Not here: the port, the token and the Origin, which are
`serving`'s; and nothing that can be known of a run, which is `inspection`'s.
"""
