"""Pictures of texts that were compared, as SVG and HTML. They know the measures' shapes, not how these came about."""
