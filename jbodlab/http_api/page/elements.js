// Small help with the document: elements that stay the same while what they show changes, so that
// focus, an open menu and a drag outlive the next look. Text is only ever set as text.
export const at = (id) => document.getElementById(id);

export function make(name, classes = "", text = "") {
  const element = document.createElement(name);
  if (classes) element.className = classes;
  if (text) element.textContent = text;
  return element;
}

export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// Gives parent one child per item, in their order; a child is made once per key.
export function show(parent, items, key, create, update) {
  const known = (parent.shown ??= new Map());
  const wanted = new Map(items.map((item) => [key(item), item]));
  for (const [each, child] of known) {
    if (!wanted.has(each)) {
      child.remove();
      known.delete(each);
    }
  }
  let next = parent.firstElementChild;
  for (const [each, item] of wanted) {
    let child = known.get(each);
    if (!child) {
      child = create(item);
      known.set(each, child);
    }
    if (child === next) next = next.nextElementSibling;
    else parent.insertBefore(child, next);
    update(child, item);
  }
}

export function bytes(count) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (count >= 1024 && unit < units.length - 1) {
    count /= 1024;
    unit += 1;
  }
  return `${unit ? count.toFixed(1) : Math.round(count)} ${units[unit]}`;
}
