// Functions that create the elements of pages and pictures, shared by all widgets.

const SVG = "http://www.w3.org/2000/svg";

/** Set attributes. Unchanged attributes are not set, because setting them would cause a new layout. */
export function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (element.getAttribute(name) !== `${value}`) element.setAttribute(name, value);
  }
}

/** Set the text of an element, unless it is unchanged. */
export function write(element, text) {
  if (element.textContent !== `${text}`) element.textContent = text;
}

/** An HTML element. Links and controls keep the keys that JupyterLab's command mode would otherwise handle. */
export function html(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  set(element, attributes);
  if (element.matches("a, button, input, select")) element.dataset.lmSuppressShortcuts = "true";
  element.append(...children);
  return element;
}

/** An SVG element. */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  set(element, attributes);
  element.append(...children);
  return element;
}
