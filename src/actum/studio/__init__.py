"""The Studio: runs and Ideas in the browser, as a part of what `actum serve` serves. Its pages are `routes`."""
