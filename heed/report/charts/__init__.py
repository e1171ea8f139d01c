"""The charts of a report: their data as Vega-Lite specifications, drawn by Vega: in the page, or as files."""
