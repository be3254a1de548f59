"""Pictures of columns as SVG and HTML, which need neither scripts nor a network."""
