// Figures as they are printed: one decimal, a minus of its own, p-values with two digits.

/** Return a value times its column's factor. */
export const figure = (value, factor) => (factor * value).toFixed(1).replace(/^-(0\.0+)$/, "$1").replace("-", "−");

/** Return the same with a plus before what is above 0. */
export const signed = (value, factor) => figure(value, factor).replace(/^(?=[1-9]|0\.[1-9])/, "+");

/** Return a p-value with two digits, three where it is small. */
export const pText = (p) => (p < 0.001 ? "<0.001" : p.toFixed(p < 0.1 ? 3 : 2));

/** Return what is known of the system `at` against a baseline by a column, null where that is nothing. */
export function difference(column, baseline, at) {
  const row = column.against[baseline]?.[at];
  if (!row) return null;
  const [value, low, high, p, holm, better, equal, worse, topics] = row;
  return { value, low, high, p, holm, better, equal, worse, topics };
}
