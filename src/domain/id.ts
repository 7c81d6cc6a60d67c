/** Prefix of an id, which shows the type of the record. */
export type IdPrefix =
  | 'cus'
  | 'pay'
  | 'inv'
  | 'chk'
  | 'whe'
  | 'dlv'
  | 'ref'
  | 'key'
  | 'dec'
  | 'snp'
  | 'rtr'
  | 'rcv'
  | 'dis'
  | 'rev'
  | 'aud'
  | 'opr'
  | 'exp';

/** Returns `size` bytes from a cryptographically secure source. */
export type RandomBytes = (size: number) => Uint8Array;

/** Makes a new id, for example `chk_01m4...`; see {@link createIdSource}. */
export type NewId = (prefix: IdPrefix) => string;

// Crockford base32, lower case: no i, l, o, u. https://www.crockford.com/base32.html
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const TIME_LENGTH = 10;
const RANDOM_LENGTH = 26;
const STEP_LENGTH = 16;
const ID_PATTERN = /^(cus|pay|inv|chk|whe|dlv|ref|key|dec|snp|rtr|rcv|dis|rev|aud|opr|exp)_[0-9a-hjkmnp-tv-z]{36}$/;

/**
 * Creates ids: `<prefix>_`, 10 characters of time (48 bits of milliseconds) and 26 random characters (130 bits). Ids sort by
 * creation time. The random part cannot be guessed, because anyone who knows the URL of a checkout can open it. Within one
 * millisecond, a source adds a random step (80 bits) to its previous id, so that these ids are also in order.
 */
export function createIdSource(now: () => number, randomBytes: RandomBytes): NewId {
  let lastTime = -1;
  let last: Uint8Array = new Uint8Array(RANDOM_LENGTH);
  return (prefix) => {
    // After the clock is set back, new ids must still sort after older ids.
    const time = Math.max(now(), lastTime);
    const step = time === lastTime ? randomBytes(STEP_LENGTH) : undefined;
    last = (step && stepAbove(last, step)) ?? randomBytes(RANDOM_LENGTH).map((byte) => byte & 31);
    lastTime = time;
    let random = '';
    for (const digit of last) random += ALPHABET[digit]!;
    return `${prefix}_${encodeTime(time)}${random}`;
  };
}

/** The base-32 digits of `from` + `step` + 1; undefined if the sum overflows, which is less likely than guessing an id. */
function stepAbove(from: Uint8Array, step: Uint8Array): Uint8Array | undefined {
  const sum = Uint8Array.from(from);
  let carry = 1;
  for (let index = sum.length - 1, low = step.length - 1; index >= 0 && (low >= 0 || carry > 0); index--, low--) {
    const digit = sum[index]! + (low >= 0 ? step[low]! & 31 : 0) + carry;
    sum[index] = digit & 31;
    carry = digit >> 5;
  }
  return carry === 0 ? sum : undefined;
}

/** True if `value` is a well-formed id with one of `prefixes`. */
export function isId(value: string, ...prefixes: IdPrefix[]): boolean {
  const match = ID_PATTERN.exec(value);
  return match !== null && prefixes.includes(match[1] as IdPrefix);
}

/** Creation time of a well-formed id, in milliseconds. */
export function timeOfId(id: string): number {
  const start = id.indexOf('_') + 1;
  return Array.from(id.slice(start, start + TIME_LENGTH)).reduce((ms, digit) => ms * 32 + ALPHABET.indexOf(digit), 0);
}

/** Lower bound of all ids that were created at the time `ms` or later. */
export function firstIdAt(prefix: IdPrefix, ms: number): string {
  return `${prefix}_${encodeTime(Math.max(0, ms))}`;
}

function encodeTime(ms: number): string {
  let text = '';
  for (let rest = ms; text.length < TIME_LENGTH; rest = Math.floor(rest / 32)) text = ALPHABET[rest % 32]! + text;
  return text;
}
