// Small helpers for making elements and showing numbers.

/** Make an element; what is not a property of its kind becomes an attribute. */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in element) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

/** A probability for people: 98.2%, and no more certainty than there is. */
export function percent(probability) {
  if (probability > 0.9995) return "> 99.9%";
  if (probability < 0.0005) return "< 0.1%";
  return `${(100 * probability).toFixed(1)}%`;
}

/** Call a function once calls to it have paused for some milliseconds. */
export function debounced(milliseconds, call) {
  let timer;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(call, milliseconds);
  };
}
