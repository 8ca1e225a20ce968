"""`python -m actum`."""

from .cli import main

main()
