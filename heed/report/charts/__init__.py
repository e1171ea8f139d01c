"""The charts of a report: their data as Vega-Lite specifications, drawn as SVG."""
