// Figures as they are printed: one decimal, a minus of its own, p-values with two digits.

const BEHIND = 30; // digits that tell a number between two printed ones

/** Return a number with so many digits; of one in the middle between two the last is even, as Python prints it. */
function fixed(value, digits) {
  const exact = value.toFixed(digits + BEHIND);
  const before = exact.slice(0, -BEHIND);
  const isMiddle = exact.endsWith(`5${"0".repeat(BEHIND - 1)}`);
  return isMiddle && Number(before.at(-1)) % 2 === 0 ? before : value.toFixed(digits);
}

/** Return a value times its column's factor. */
export const figure = (value, factor) => fixed(factor * value, 1).replace(/^-(0\.0+)$/, "$1").replace("-", "−");

/** Return the same with a plus before what is above 0. */
export const signed = (value, factor) => figure(value, factor).replace(/^(?=[1-9]|0\.[1-9])/, "+");

/** Return a p-value with two digits, three where it is small. */
export const pText = (p) => (p < 0.001 ? "<0.001" : fixed(p, p < 0.1 ? 3 : 2));

/** Return what is known of the system `at` against a baseline by a column, null where that is nothing. */
export function difference(column, baseline, at) {
  const row = column.against[baseline]?.[at];
  if (!row) return null;
  const [value, low, high, p, holm, better, equal, worse, topics] = row;
  return { value, low, high, p, holm, better, equal, worse, topics };
}
