// Reading and writing numbers as people do.

// The numbers that a text can mean: none, one or two. "1.500" is 1500 or 1.5.
export function readings(text) {
  const plain = text
    .replace(/[\u0660-\u0669\u06f0-\u06f9]/g, (digit) => digit.charCodeAt(0) % 16) // Arabic and Persian digits
    .replace(/[\u061c\u200e\u200f\u2066-\u2069]/g, "") // direction marks
    .replace(/^\s*[\u2010-\u2013\u2212]/, "-")
    .replace(/\u066b/, ",")
    .replace(/(\d)[\s'\u2019\u066c](?=\d\d\d(\D|$))/g, "$1")
    .trim();
  const number = (digits) => Number(digits.replace(",", "."));
  const found = /^[+-]?(\d+[.,]?\d*|[.,]\d+)$/.test(plain) ? [number(plain)] : [];
  const grouped = /^[+-]?[1-9]\d?\d?([.,])\d\d\d(\1\d\d\d)*((?!\1)[.,]\d*)?$/.exec(plain);
  return grouped ? found.concat(number(plain.split(grouped[1]).join(""))) : found;
}

// Format a number with at most `decimals` decimals.
export function written(value, decimals, { decimal, thousands, grouped_from }) {
  const digits = Math.abs(value).toFixed(decimals).replace(/\.0+$|(\.\d*[1-9])0+$/, "$1");
  const [whole, rest] = digits.split(".");
  const shown = whole.length < grouped_from ? whole : whole.replace(/\B(?=(\d\d\d)+$)/g, thousands);
  const all = rest ? shown + decimal + rest : shown;
  return value < 0 && Number(digits) ? "\u2066\u2212" + all + "\u2069" : all; // the sign stays in front in Arabic
}
