// What the pages use of Vega's libraries; `make vega` joins it and all that it imports to vega.js.

export { View, parse } from "vega";
export { expressionInterpreter } from "vega-interpreter";
export { compile } from "vega-lite";
