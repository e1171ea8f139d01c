// The location's hash: #/FOLDER/topic/ID?system=TAG, #/FOLDER/document/DOCID?topic=ID, each part percent-encoded.

/** Return {folder, kind, id, query} of a hash; kind is "" for the overview. */
export function parse(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?");
  const [folder = "", kind = "", id = ""] = path.split("/").map(decoded);
  return { folder, kind, id, query: new URLSearchParams(query) };
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // a percent sign by itself, typed by hand
  }
}

/** Return the hash of a page; of `query` what is null is left out. */
export function hashOf(folder, kind = "", id = "", query = {}) {
  const path = [folder, kind, id].filter(Boolean).map(encodeURIComponent).join("/");
  const parameters = Object.entries(query).filter(([, value]) => value != null);
  const search = parameters.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&");
  return `#/${path}${search ? `?${search}` : ""}`;
}
