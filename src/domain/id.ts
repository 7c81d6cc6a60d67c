/** The type of a record, told from its id alone. */
export type IdPrefix =
  'cus' | 'pay' | 'inv' | 'chk' | 'whe' | 'dlv' | 'ref' | 'key' | 'dec' | 'snp' | 'rtr' | 'rcv' | 'dis';

/** Returns `size` bytes from a cryptographically secure source. */
export type RandomBytes = (size: number) => Uint8Array;

/** Makes a new id, for example `chk_01m4...`; see {@link createIdSource}. */
export type NewId = (prefix: IdPrefix) => string;

// Crockford base32, lower case: no i, l, o, u. https://www.crockford.com/base32.html
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const TIME_LENGTH = 10;
const RANDOM_BYTES = 16;
const STEP_BYTES = 10;
const ID_PATTERN = /^(cus|pay|inv|chk|whe|dlv|ref|key|dec|snp|rtr|rcv|dis)_[0-9a-hjkmnp-tv-z]{36}$/;

/**
 * Ids are `<prefix>_`, 10 characters of time (48 bits of milliseconds) and 26 of randomness (128 bits), so that sorting
 * by id is sorting by creation, while the random part alone cannot be guessed: a checkout URL is a capability. Within
 * one millisecond each id of a source is a random step (80 bits) above the one before, so that the order holds there too.
 */
export function createIdSource(now: () => number, randomBytes: RandomBytes): NewId {
  let lastTime = -1;
  let last = new Uint8Array(RANDOM_BYTES);
  return (prefix) => {
    // A clock that is set back must not put new records before older ones.
    const time = Math.max(now(), lastTime);
    const above = time === lastTime ? stepAbove(last, randomBytes(STEP_BYTES)) : undefined;
    last = above ?? Uint8Array.from(randomBytes(RANDOM_BYTES));
    lastTime = time;
    return `${prefix}_${encodeTime(time)}${encodeRandom(last)}`;
  };
}

/** `from` plus `step` plus 1, or undefined past the largest value, which is less likely than guessing an id. */
function stepAbove(from: Uint8Array, step: Uint8Array): Uint8Array<ArrayBuffer> | undefined {
  const sum = Uint8Array.from(from);
  let carry = 1;
  for (let index = sum.length - 1, low = step.length - 1; index >= 0; index--, low--) {
    const digit = sum[index]! + (low >= 0 ? step[low]! : 0) + carry;
    sum[index] = digit;
    carry = digit >> 8;
  }
  return carry === 0 ? sum : undefined;
}

/** True where `value` is a well-formed id with one of `prefixes`. */
export function isId(value: string, ...prefixes: IdPrefix[]): boolean {
  const match = ID_PATTERN.exec(value);
  return match !== null && prefixes.includes(match[1] as IdPrefix);
}

/** When a well-formed id was made, in milliseconds. */
export function timeOfId(id: string): number {
  const start = id.indexOf('_') + 1;
  return Array.from(id.slice(start, start + TIME_LENGTH)).reduce((ms, digit) => ms * 32 + ALPHABET.indexOf(digit), 0);
}

/** What all ids that were made at that time, or later, are not below. */
export function firstIdAt(prefix: IdPrefix, ms: number): string {
  return `${prefix}_${encodeTime(Math.max(0, ms))}`;
}

function encodeTime(ms: number): string {
  let rest = ms;
  let text = '';
  for (let index = 0; index < TIME_LENGTH; index++) {
    text = ALPHABET[rest % 32]! + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}

function encodeRandom(bytes: Uint8Array): string {
  let text = '';
  let buffer = 0;
  let bits = 0;
  for (const byte of bytes) {
    buffer = (buffer << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += ALPHABET[(buffer >>> bits) & 31]!;
    }
    buffer &= (1 << bits) - 1;
  }
  return bits > 0 ? text + ALPHABET[(buffer << (5 - bits)) & 31]! : text;
}
