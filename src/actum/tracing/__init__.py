"""Where the spans of runs go: to OpenTelemetry, and as records to stdlib `logging`; nowhere if nobody takes them.

An adapter of the port `actum.spans`; nothing else of Actum knows OpenTelemetry. `tracers` finds out who takes them.
"""
