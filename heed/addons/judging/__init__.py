"""Making judgements: pools, annotation in the browser, exchange with other tools, a model's judgements."""
