"""Forms made from JSON Schemas: fields that a server renders, read back into the value that they show.

The fields are a view: `reading` takes what was posted for a value, and the validator alone says whether it fits, in the
words of the command line. So what no field can show is shown as JSON, and nothing that a schema says is lost.
"""
