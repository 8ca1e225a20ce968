"""Forms made from JSON Schemas: fields that a server renders, read back into the value that they show.

The fields are only a view: `sent` reads a value from what was posted, and the validator says whether it fits, in the
words of the command line. A schema that no field can show is shown as JSON, so nothing of it is lost.
"""
