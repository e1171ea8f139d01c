// Create and update elements without markup: text is always inserted as text.

export const byId = (id) => document.getElementById(id);

/** Return an element with attributes (on… are listeners; false and null are left out) and children or strings. */
export function make(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** Give an element attributes and children as `make` does; return it. */
export function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

const drawnItems = new WeakMap();

/** Set the children of `parent` to `draw(item)` of each item, drawing only items that have changed. */
export function redraw(parent, items, draw) {
  const before = drawnItems.get(parent) ?? [];
  const now = items.map((item) => JSON.stringify(item));
  now.forEach((item, i) => {
    if (item === before[i]) return;
    const child = draw(items[i]);
    if (i < parent.children.length) parent.children[i].replaceWith(child);
    else parent.append(child);
  });
  while (parent.children.length > now.length) parent.lastElementChild.remove();
  drawnItems.set(parent, now);
}

/** Set an element's language and direction, so that its fonts are right; return the element. */
export function setLanguage(element, language) {
  element.lang = language.tag;
  element.dir = language.dir;
  return element;
}

let toastTimer = 0;

/** Show a line at the foot of the page for as long as it takes to read; `refused` makes it stand out. */
export function toast(text, refused = false) {
  const line = byId("toast"); // never hidden: what appears in a hidden one is not read aloud everywhere
  line.textContent = text;
  line.toggleAttribute("data-refused", refused);
  clearTimeout(toastTimer);
  toastTimer = setTimeout(clearToast, Math.max(4000, 70 * text.length));
}

export function clearToast() {
  byId("toast").textContent = "";
}

const ADDRESS_PAUSE = 200; // ms between two, after ten at once; WebKit throws at the 101st within 10 seconds
let address = "";
let replaced = ""; // the hash that it was given for: not written over another, of a link or of the browser's Back
let written = ""; // the hash as this page wrote it last
let paused = 0; // until when, if all had waited
let addressTimer = 0;

/** Write the page's address once it is drawn, of many the last; `isNew`: at once, for Back. Refused, it changes nothing else. */
export function setAddress(text, isNew = false) {
  if (isNew && addressTimer) writeAddress("replaceState"); // of what is left
  [address, replaced] = [text, location.hash];
  if (isNew) writeAddress("pushState");
  else addressTimer ||= setTimeout(writeAddress, paused - 10 * ADDRESS_PAUSE - performance.now(), "replaceState");
}

function writeAddress(method) {
  clearTimeout(addressTimer);
  addressTimer = 0;
  paused = Math.max(paused, performance.now()) + ADDRESS_PAUSE;
  try {
    if (location.hash !== replaced) return;
    history[method](null, "", address);
    written = location.hash;
  } catch {
    // the bar keeps the one before
  }
}

/** Return whether the address is `hash` or what this page wrote; else a link was followed, whose hashchange comes next. */
export const isAddress = (hash) => [hash, written].includes(location.hash);

/** Return a function that runs `act` once its calls have ceased for `wait` ms; `flush()` runs a pending one at once. */
export function debounced(wait, act) {
  let timer = 0;
  const run = () => {
    timer = 0;
    act();
  };
  const call = () => {
    clearTimeout(timer);
    timer = setTimeout(run, wait);
  };
  call.flush = () => {
    if (timer) {
      clearTimeout(timer);
      run();
    }
  };
  call.pending = () => timer !== 0;
  return call;
}
