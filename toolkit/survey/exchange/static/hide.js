
// What follows is not part of the respondents' page of the toolkit: it is for pages of other programs.

// The report that replaces an answer. `design` is an entry of designs.js. The answer is one of `design.options`, a list of them
// for tick boxes, or a number between the design's bounds; anything else throws an error that does not quote it. The report is
// one of `design.report_options` if the design has them, and otherwise a number or a list of numbers, which `read_reports` reads.
// `next` returns random words, 0 to 2^32 - 1; only tests replace the browser's generator for secret keys.
export function hide(design, answer, next = words()) {
  const code = (option) => design.options.indexOf(option); // -1, for no option, is rejected by report()
  const truth = !design.options ? gridIndex(design, answer) : Array.isArray(answer) ? answer.map(code) : code(answer);
  const drawn = report(design, truth, next);
  return design.report_options ? design.report_options[drawn] : drawn;
}
