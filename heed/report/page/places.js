// The page's address says what is shown: #/FOLDER, #/FOLDER/systems/A/B; the explorer shows topics and documents.

import { drawFirst } from "./first.js";
import { FOLDERS, drawPair } from "./pair.js";
import { byId } from "./shared/dom.js";

let returnTo = { top: 0, focus: null };

/** Return folder, kind and names of the present place; null for an address that is none. */
function here() {
  const [path] = location.hash.slice(2).split("?");
  try {
    const [folder, kind, ...names] = path.split("/").map(decodeURIComponent);
    return { folder, kind, names };
  } catch {
    return null; // a % that encodes nothing
  }
}

const sections = () => [...byId("overview").querySelectorAll("section[data-folder]")];
const sectionOf = (folder) => sections().find((section) => section.dataset.folder === folder);

/** Show a folder's results, or its settings. */
function showPart(section, isSettings) {
  section.toggleAttribute("data-settings", isSettings);
  const tab = section.querySelector(isSettings ? ".settings-tab" : ".overview-tab");
  for (const link of section.querySelectorAll(".tabs a")) link.ariaCurrent = link === tab ? "page" : null;
  if (isSettings) section.querySelector(".of-settings").open = true;
}

function show() {
  const place = here();
  const [overview, pair] = [byId("overview"), byId("pair")];
  const data = FOLDERS.find((folder) => folder.folder === place?.folder);
  const elsewhere = byId("explorer")?.hidden === false; // its script comes first
  const two = place?.kind === "systems" && data && place.names.every((name) => data.systems.includes(name));
  if (!overview.hidden && (two || elsewhere)) returnTo = { top: scrollY, focus: document.activeElement };
  const back = overview.hidden && !two && !elsewhere;
  byId("tip").hidden = true;
  overview.hidden = Boolean(two) || elsewhere;
  for (const section of sections()) showPart(section, section.dataset.folder === place?.folder && place.kind === "settings");
  pair.hidden = !two;
  if (two) {
    drawPair(data, place.names);
    scrollTo(0, 0);
    pair.querySelector(":scope > h2").focus({ preventScroll: true });
  } else if (back) {
    scrollTo(0, returnTo.top);
    returnTo.focus?.focus({ preventScroll: true });
  } else if (place?.folder && !elsewhere) {
    const section = sectionOf(place.folder);
    section?.scrollIntoView();
    section?.querySelector(".title").focus({ preventScroll: true });
  }
}

function press(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/" && !byId("overview").hidden && event.target.tagName !== "INPUT") {
    event.preventDefault();
    byId("filters").closest(".all").open = true;
    byId("rows-filter").focus();
  }
  if (event.key === "Escape" && !byId("pair").hidden) location.hash = `#/${encodeURIComponent(here().folder)}`;
}

for (const data of FOLDERS) drawFirst(sectionOf(data.folder), data);
document.querySelectorAll(".settings-tab").forEach((link) => (link.hidden = false));
if (byId("explorer")) document.querySelectorAll(".topics").forEach((link) => (link.hidden = false));
addEventListener("hashchange", show);
document.addEventListener("keydown", press);
show();
