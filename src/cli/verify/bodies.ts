/** Bytes that may be those that were signed, and what then was done to them on the way. */
export interface BodyReading {
  bytes: Buffer;
  /** What was done to the body, as the end of "the body was ..."; null for the bytes as they were given. */
  rewritten: string | null;
}

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
type JsonObject = { [key: string]: Json };

const BOM = '\u{feff}';
/** The order in which an event is written; what is in `metadata` has the order in which it was given. */
const EVENT_KEYS: Record<string, readonly string[]> = {
  '': ['id', 'type', 'livemode', 'created', 'data'],
  data: 'session_id customer_id status amount currency asset network route fees tx_hash metadata'.split(' '),
  'data.route': ['id', 'kind', 'label', 'provider'],
  'data.fees': ['buyer_fee', 'gateway_fee', 'merchant_net', 'total'],
};
/** All orders of so many keys are tried: 720. */
const MAX_PERMUTED = 6;
const MAX_NESTING = 3;

/** Everything that the body may have been when it was signed; as it is now first. */
export function readingsOf(body: Buffer): BodyReading[] {
  const found = new Map<string, BodyReading>([[body.toString('latin1'), { bytes: body, rewritten: null }]]);
  const add = (bytes: Buffer, rewritten: string) => {
    const key = bytes.toString('latin1');
    if (!found.has(key)) found.set(key, { bytes, rewritten });
  };
  for (const { text, how } of textsOf(body)) {
    if (how !== '') add(Buffer.from(text), how);
    const bare = text.startsWith(BOM) ? text.slice(1) : text;
    const both = (what: string) => (how === '' ? what : `${how}, and ${what}`);
    if (bare !== text) add(Buffer.from(bare), both('given a byte order mark at its beginning'));
    const trimmed = bare.trim();
    if (trimmed !== bare) add(Buffer.from(trimmed), both(marginOf(bare, trimmed)));
    if (bare === text) {
      add(Buffer.from(`${text}\n`), both('stripped of the newline at its end'));
      add(Buffer.from(`${BOM}${text}`), both('stripped of its byte order mark'));
    }
    if (/\r\n/.test(trimmed)) add(Buffer.from(trimmed.replaceAll('\r\n', '\n')), both('given CRLF for its line ends'));
    if (/\n/.test(trimmed)) add(Buffer.from(trimmed.replaceAll(/\r?\n/g, '\r\n')), both('given LF for its line ends'));
    addParsed(trimmed, both, add);
  }
  return [...found.values()];
}

/** The event's id as far as the body tells; it may be in any order and form. */
export function eventIdsIn(body: Buffer): string[] {
  return Array.from(body.toString().matchAll(/\bevt_chk_[0-9a-z]+_[a-z_]+/g), ([id]) => id).slice(0, 2);
}

/** The event that the body is, in whatever form; undefined where it is not the JSON of one. */
export function eventIn(body: Buffer): { id: string; type: string; livemode: unknown } | undefined {
  for (const { text } of textsOf(body)) {
    for (const { json } of parsed(text.replace(BOM, '').trim())) {
      if (!isObject(json)) continue;
      const { id, type, livemode } = json;
      if (typeof id === 'string' && typeof type === 'string') return { id, type, livemode };
    }
  }
  return undefined;
}

function textsOf(body: Buffer): { text: string; how: string }[] {
  const text = body.toString();
  const texts = [{ text, how: '' }];
  // Only what the wrong decoding makes of UTF-8 can be decoded once more.
  if (/[\u{80}-\u{ff}]/u.test(text) && !/[^\u{0}-\u{ff}]/u.test(text)) {
    texts.push({ text: Buffer.from(text, 'latin1').toString(), how: 'read as Latin-1 although it is UTF-8' });
  }
  if (body.length > 3 && body[0] === 0xff && body[1] === 0xfe) {
    texts.push({ text: body.subarray(2).toString('utf16le'), how: 'written as UTF-16' });
  }
  if (/^[A-Za-z0-9+/\s]{20,}={0,2}\s*$/.test(text)) {
    texts.push({ text: Buffer.from(text, 'base64').toString(), how: 'encoded in base64' });
  }
  if (/^%7B/i.test(text)) texts.push({ text: fromUrl(text), how: 'URL-encoded' });
  return texts;
}

function fromUrl(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}

/** What the text says as JSON; where that is a string of JSON or an envelope around one, what stands in there too. */
function parsed(text: string, nesting = 0): { json: Json; nested: string }[] {
  const json = parseJson(text);
  if (json === undefined || nesting === MAX_NESTING) return [];
  const inside = (inner: string, how: string) =>
    parsed(inner, nesting + 1).map((each) => ({
      json: each.json,
      nested: each.nested === '' ? how : `${how}, and ${each.nested}`,
    }));
  if (typeof json === 'string') return inside(json, 'stringified twice: it is a JSON string that holds the JSON');
  const envelope = isObject(json) && typeof json['body'] === 'string' ? json['body'] : undefined;
  const wrapped = 'left in the envelope of a gateway or queue, in its field "body"';
  return [{ json, nested: '' }, ...(envelope === undefined ? [] : inside(envelope, wrapped))];
}

function parseJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

function addParsed(
  text: string,
  both: (what: string) => string,
  add: (bytes: Buffer, rewritten: string) => void,
): void {
  try {
    for (const { json, nested } of parsed(text)) addRewritten(text, json, both(nested), add);
  } catch (error) {
    // JSON nested so deep that it cannot be written is not an event that was rewritten: the stack has an end.
    if (!(error instanceof RangeError)) throw error;
  }
}

function addRewritten(
  given: string,
  json: Json,
  nested: string,
  add: (bytes: Buffer, rewritten: string) => void,
): void {
  const sent = JSON.stringify(json);
  add(Buffer.from(sent), nested === '' ? `parsed and written anew: ${styleOf(given, json)}` : nested);
  if (!isObject(json)) return;
  const resorted = nested === '' ? `parsed and written anew: ${orderOf(json)}` : `${nested}, and ${orderOf(json)}`;
  for (const ordered of inEventOrder(json)) add(Buffer.from(JSON.stringify(ordered)), resorted);
}

function marginOf(text: string, trimmed: string): string {
  const after = text.slice(text.indexOf(trimmed) + trimmed.length);
  const before = text.slice(0, text.indexOf(trimmed));
  if (before === '' && after === '\n') return 'given a newline at its end';
  if (before === '' && after === '\r\n') return 'given a CRLF at its end';
  return `given white space ${before === '' ? 'at its end' : 'around it'}`;
}

const PYTHON_SEPARATORS = 'with a space after each ":" and ",", as by Python\'s json.dumps';
const ESCAPED_UNICODE = 'with letters beyond ASCII escaped as \\uXXXX';
const STYLES: readonly [name: string, write: (json: Json) => string][] = [
  ['pretty-printed with 2 spaces', (json) => JSON.stringify(json, null, 2)],
  ['pretty-printed with 4 spaces', (json) => JSON.stringify(json, null, 4)],
  ['pretty-printed with tabs', (json) => JSON.stringify(json, null, '\t')],
  ['pretty-printed, with CRLF', (json) => JSON.stringify(json, null, 2).replaceAll('\n', '\r\n')],
  [PYTHON_SEPARATORS, spaced],
  [`${PYTHON_SEPARATORS}, and ${ESCAPED_UNICODE.slice('with '.length)}`, (json) => asciiOnly(spaced(json))],
  [ESCAPED_UNICODE, (json) => asciiOnly(JSON.stringify(json))],
  ['with "/" escaped as "\\/"', (json) => JSON.stringify(json).replaceAll('/', '\\/')],
  [
    'with "/" escaped as "\\/" and letters beyond ASCII as \\uXXXX, as by PHP\'s json_encode',
    (json) => asciiOnly(JSON.stringify(json)).replaceAll('/', '\\/'),
  ],
  [
    "with <, > and & escaped as \\uXXXX, as by Go's json.Marshal",
    (json) => JSON.stringify(json).replaceAll(/[<>&\u{2028}\u{2029}]/gu, escaped),
  ],
];

/** Which way of writing JSON makes of `json` what was given. */
function styleOf(given: string, json: Json): string {
  const known = STYLES.find(([, write]) => write(json) === given)?.[0];
  if (known !== undefined) return known;
  const bare = (text: string) => text.replaceAll(/\s+/g, '');
  return bare(given) === bare(JSON.stringify(json))
    ? 'with other white space'
    : 'with numbers or letters written otherwise';
}

function orderOf(json: JsonObject): string {
  const isSorted = keysOf(json).every((keys) => keys.every((key, index) => index === 0 || keys[index - 1]! <= key));
  return isSorted ? 'with its keys sorted' : 'with its keys in another order';
}

function keysOf(json: Json): string[][] {
  if (!isObject(json)) return [];
  return [Object.keys(json), ...Object.values(json).flatMap(keysOf)];
}

function spaced(json: Json): string {
  if (Array.isArray(json)) return `[${json.map(spaced).join(', ')}]`;
  if (!isObject(json)) return JSON.stringify(json);
  const members = Object.entries(json).map(([key, value]) => `${JSON.stringify(key)}: ${spaced(value)}`);
  return `{${members.join(', ')}}`;
}

/** Code unit by code unit, as JSON escapes what is beyond U+FFFF in two. */
function asciiOnly(text: string): string {
  return text.replaceAll(/[\u007f-\uffff]/g, escaped);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** The event in the order in which it is written, for each order that the keys of its metadata may have had. */
function inEventOrder(json: JsonObject): JsonObject[] {
  const ordered = reorder(json, '');
  const data = ordered['data'];
  const metadata = isObject(data) ? data['metadata'] : undefined;
  if (!isObject(data) || !isObject(metadata)) return [ordered];
  return ordersOf(Object.keys(metadata)).map((keys) => ({
    ...ordered,
    data: { ...data, metadata: Object.fromEntries(keys.map((key) => [key, metadata[key]!])) },
  }));
}

function reorder(json: JsonObject, path: string): JsonObject {
  const known = EVENT_KEYS[path];
  const keys = Object.keys(json);
  const sorted = known
    ? [...known.filter((key) => Object.hasOwn(json, key)), ...keys.filter((key) => !known.includes(key))]
    : keys;
  return Object.fromEntries(
    sorted.map((key) => {
      const value = json[key]!;
      return [key, isObject(value) ? reorder(value, path === '' ? key : `${path}.${key}`) : value];
    }),
  );
}

function ordersOf(keys: readonly string[]): string[][] {
  if (keys.length === 0) return [[]];
  if (keys.length > MAX_PERMUTED) return [[...keys]];
  return keys.flatMap((first, index) => ordersOf(keys.toSpliced(index, 1)).map((rest) => [first, ...rest]));
}

function isObject(json: Json | undefined): json is JsonObject {
  return typeof json === 'object' && json !== null && !Array.isArray(json);
}
