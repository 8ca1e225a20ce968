"""Where the spans of runs go: to OpenTelemetry, and as records to stdlib `logging`. Nothing where nobody listens.

An adapter of the port `actum.spans`; nothing else of Actum knows OpenTelemetry. `listening` says who listens.
"""
