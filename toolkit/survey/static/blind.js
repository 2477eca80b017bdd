// Blind tokens: the server signs a nonce that it cannot see, so that reports cannot be linked to invitations.
// RSABSSA-SHA384-PSS-Randomized of RFC 9474; the nonce is its random prefix, the survey's hash its message. Without https or
// localhost browsers lack crypto.subtle, and request() throws "insecure".

import { hex, secret } from "./randomizer.js";

const HASH = 48; // bytes of SHA-384 and of the salt
const number = (digits) => BigInt(`0x${digits}`);
const bytes = (digits) => Uint8Array.from(digits.match(/../g), (pair) => parseInt(pair, 16));
const padded = (value, length) => value.toString(16).padStart(2 * length, "0");
const join = (...parts) => Uint8Array.from(parts.flatMap((part) => [...part]));
const sha384 = async (message) => new Uint8Array(await crypto.subtle.digest("SHA-384", message));

function power(base, exponent, n) {
  let result = 1n;
  for (; exponent > 0n; exponent >>= 1n, base = (base * base) % n) if (exponent & 1n) result = (result * base) % n;
  return result;
}

function inverse(value, n) {
  let [a, b, x, y] = [value % n, n, 1n, 0n];
  while (a > 1n) [a, b, x, y] = [b % a, a, y - (b / a) * x, x]; // value * x = a modulo n, always
  return a === 1n ? ((x % n) + n) % n : null;
}

async function encode(message, bits, salt) { // EMSA-PSS, RFC 8017 section 9.1.1
  const length = Math.ceil(bits / 8);
  const digest = await sha384(join(new Uint8Array(8), await sha384(message), salt));
  const block = join(new Uint8Array(length - salt.length - HASH - 2), [1], salt);
  for (let at = 0; at < block.length; at += HASH) {
    const mask = await sha384(join(digest, [0, 0, 0, at / HASH]));
    for (let i = at; i < Math.min(at + HASH, block.length); i += 1) block[i] ^= mask[i - at];
  }
  block[0] &= 0xff >> (8 * length - bits);
  return join(block, digest, [0xbc]);
}

// The message to sign, and the state for finish(). `fixed` is for the RFC's test vectors.
export async function request(issuer, survey, fixed = {}) {
  if (!crypto.subtle) throw new Error("insecure");
  const [n, e, size] = [number(issuer.n), number(issuer.e), issuer.n.length / 2];
  const nonce = fixed.nonce ?? secret(32);
  const encoded = await encode(bytes(nonce + survey), n.toString(2).length - 1, fixed.salt ?? bytes(secret(HASH)));
  let kept = fixed.inverse ? number(fixed.inverse) : null;
  while (kept === null) {
    const draw = number(secret(size));
    if (draw < n) kept = inverse(draw, n); // uniform, as other numbers are drawn again
  }
  const blinded = (number(hex(encoded)) * power(inverse(kept, n), e, n)) % n;
  return { nonce, blinded: padded(blinded, size), inverse: padded(kept, size) };
}

// The token; throws if the signature of the message is invalid.
export async function finish(issuer, state, signature) {
  const [n, e] = [number(issuer.n), number(issuer.e)];
  if (power(number(signature), e, n) !== number(state.blinded)) throw new Error("signature");
  return { nonce: state.nonce, signature: padded((number(signature) * number(state.inverse)) % n, issuer.n.length / 2) };
}
