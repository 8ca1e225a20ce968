"""The protocol's nouns: message, context, tool, call, activity, scopes, solution, registry. Pure, they run nothing."""
