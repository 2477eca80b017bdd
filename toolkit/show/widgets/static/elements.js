// Elements of pages and pictures: the one builder of all widgets.

const SVG = "http://www.w3.org/2000/svg";

/** Attributes; those that stay are left alone, because the browser would lay everything out again. */
export function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (element.getAttribute(name) !== `${value}`) element.setAttribute(name, value);
  }
}

/** Text; the same text is left alone. */
export function write(element, text) {
  if (element.textContent !== `${text}`) element.textContent = text;
}

/** An element of HTML. JupyterLab's command mode takes keys away from a focused one unless it says no: links and controls do. */
export function html(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  set(element, attributes);
  if (element.matches("a, button, input, select")) element.dataset.lmSuppressShortcuts = "true";
  element.append(...children);
  return element;
}

/** An element of a picture. */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  set(element, attributes);
  element.append(...children);
  return element;
}
