/** Prefix of an id, which shows the type of the record. */
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
const RANDOM_LENGTH = 26;
// 26 digits hold 130 bits.
const SPARE_BITS = 2n;
const OVERFLOW = 1n << 128n;
const STEP_BYTES = 10;
const ID_PATTERN = /^(cus|pay|inv|chk|whe|dlv|ref|key|dec|snp|rtr|rcv|dis)_[0-9a-hjkmnp-tv-z]{36}$/;

/**
 * Ids are `<prefix>_`, 10 characters of time (48 bits of milliseconds) and 26 of randomness (128 bits), so that sorting
 * by id is sorting by creation, while the random part alone cannot be guessed: a checkout URL is a capability. Within one
 * millisecond each id of a source is a random step (80 bits) above the one before, so that ids of one millisecond are in
 * order too.
 */
export function createIdSource(now: () => number, randomBytes: RandomBytes): NewId {
  let lastTime = -1;
  let last = 0n;
  return (prefix) => {
    // A clock that is set back must not put new records before older ones.
    const time = Math.max(now(), lastTime);
    const next = time === lastTime ? last + numberOf(randomBytes(STEP_BYTES)) + 1n : OVERFLOW;
    // An overflow is less likely than guessing an id.
    last = next < OVERFLOW ? next : numberOf(randomBytes(RANDOM_BYTES));
    lastTime = time;
    return `${prefix}_${encodeTime(time)}${encode(last << SPARE_BITS, RANDOM_LENGTH)}`;
  };
}

/** Whether `value` is a well-formed id with one of `prefixes`. */
export function isId(value: string, ...prefixes: IdPrefix[]): boolean {
  const match = ID_PATTERN.exec(value);
  return match !== null && prefixes.includes(match[1] as IdPrefix);
}

/** Creation time of a well-formed id, in milliseconds. */
export function timeOfId(id: string): number {
  const start = id.indexOf('_') + 1;
  return Array.from(id.slice(start, start + TIME_LENGTH)).reduce((ms, digit) => ms * 32 + ALPHABET.indexOf(digit), 0);
}

/** Lower bound of all ids that were made at that time or later. */
export function firstIdAt(prefix: IdPrefix, ms: number): string {
  return `${prefix}_${encodeTime(Math.max(0, ms))}`;
}

function encodeTime(ms: number): string {
  return encode(BigInt(ms), TIME_LENGTH);
}

function encode(value: bigint, length: number): string {
  const digits = value.toString(32).padStart(length, '0');
  return digits.replace(/[a-v]/g, (digit) => ALPHABET[Number.parseInt(digit, 32)]!);
}

function numberOf(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes).toString('hex')}`);
}
