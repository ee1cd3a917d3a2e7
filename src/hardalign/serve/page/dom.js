// Small helpers for making elements and showing numbers.

/** Make an element; properties that it does not have are set as attributes. */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in element) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

/** Format a probability as a percentage, never rounded to 0% or 100%. */
export function percent(probability) {
  if (probability > 0.9995) return "> 99.9%";
  if (probability < 0.0005) return "< 0.1%";
  return `${(100 * probability).toFixed(1)}%`;
}

/** Debounce a function: call it once calls have paused for some milliseconds. */
export function debounced(milliseconds, call) {
  let timer;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(call, milliseconds);
  };
}
