// Print the licences of the packages that are in a bundle, each text once; esbuild's metafile names them.

import { existsSync, readFileSync } from "node:fs";

const { inputs } = JSON.parse(readFileSync("made.json", "utf8"));
const folders = new Set(Object.keys(inputs).map((path) => path.match(/^.*node_modules\/[^/]+/)?.[0]));
const names = new Map();
for (const folder of [...folders].filter(Boolean).sort()) {
  const { name, version } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
  const text = readFileSync(existsSync(`${folder}/LICENSE`) ? `${folder}/LICENSE` : "node_modules/vega/LICENSE", "utf8").trim();
  names.set(text, [...(names.get(text) ?? []), `${name} ${version}`]);
}
for (const [text, packages] of names) console.log(`${packages.join(", ")}\n\n${text}\n\n${"-".repeat(80)}\n`);
