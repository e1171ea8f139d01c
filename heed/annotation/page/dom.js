// Elements without markup: text only ever goes in as text.

export const byId = (id) => document.getElementById(id);

/** An element with attributes (on… are listeners, false and null leave out) and children, which may be strings. */
export function make(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value != null) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

const shown = new WeakMap();

/** Make the children of `parent` those that `draw` makes of `facts`, drawing anew only where facts have changed. */
export function redraw(parent, facts, draw) {
  const before = shown.get(parent) ?? [];
  const now = facts.map((one) => JSON.stringify(one));
  now.forEach((told, at) => {
    if (told === before[at]) return;
    const made = draw(facts[at]);
    if (at < parent.children.length) parent.children[at].replaceWith(made);
    else parent.append(made);
  });
  while (parent.children.length > now.length) parent.lastElementChild.remove();
  shown.set(parent, now);
}

/** Say in which language an element's text is, so that fonts and direction are right. */
export function speak(element, language) {
  element.lang = language.tag;
  element.dir = language.dir;
  return element;
}

let fading = 0;

/** A line at the foot of the page that goes by itself. */
export function toast(text) {
  const line = byId("toast");
  line.textContent = text;
  line.hidden = false;
  clearTimeout(fading);
  fading = setTimeout(() => {
    line.hidden = true;
  }, 4000);
}

/** Run `act` once calls have ceased for `wait` milliseconds; `flush` runs what waits, at once. */
export function settled(wait, act) {
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
  call.waits = () => timer !== 0;
  return call;
}
