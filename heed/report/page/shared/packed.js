// JSON that a page carries gzipped, in base64: `pack` in heed/report/html.py makes it.

const FIRST = 1 << 15; // characters of base64 turned into bytes at once

export async function unpacked(text) {
  const pieces = [];
  for (let at = 0; at < text.length; at += FIRST)
    pieces.push(Uint8Array.from(atob(text.slice(at, at + FIRST)), (character) => character.charCodeAt(0)));
  const stream = new Blob(pieces).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}
