/** An option of a question, exactly as in the survey. */
export type Option = string | number;

/** A source of random words: whole numbers from 0 to 2^32 - 1. */
export type Words = () => number;

/** A design for one of several options. */
export interface ChoiceDesign {
  readonly kind?: "subset" | "unary" | "local_hash";
  readonly options: readonly Option[];
  /** The possible reports, if the design is a table of probabilities; otherwise a report is a list of numbers. */
  readonly report_options?: readonly Option[];
  readonly [integer: string]: unknown;
}

/** A design for several tick boxes. */
export interface TicksDesign {
  readonly kind: "random_box" | "capped_boxes";
  readonly options: readonly Option[];
  readonly [integer: string]: unknown;
}

/** A design for a number between two bounds, which are fractions: [numerator, denominator]. */
export interface NumberDesign {
  readonly kind: "one_bit" | "piecewise" | "hybrid" | "square_wave" | "local_laplace" | "scrambled";
  readonly low: readonly [number, number];
  readonly high: readonly [number, number];
  readonly [integer: string]: unknown;
}

/** The version of the toolkit that wrote the module. */
export const version: string;

/**
 * The report that replaces an answer; throws an error that does not quote the answer if the design does not have it.
 *
 * The report is drawn with the browser's generator for secret keys. `next` replaces it in tests.
 */
export function hide(design: TicksDesign, answer: readonly Option[], next?: Words): number[];
export function hide(design: NumberDesign, answer: number, next?: Words): number;
export function hide(design: ChoiceDesign, answer: Option, next?: Words): Option | number[];
