import { type ReadForm, readForm } from './forms.ts';
import { type Scheme, GATEWAY, STANDARD } from './schemes.ts';

/** One header line; the name in lower case. */
export type HeaderLine = readonly [name: string, value: string];

/** What a header says that the sender may have said: a digest, and what it was made over besides the body. */
export interface Claim {
  scheme: Scheme;
  /** The header in which it stands. */
  header: string;
  /** Unix seconds as they were signed. */
  timestamp: string;
  /** The event's id as it was signed; of no account in `x-gateway-signature`. */
  id: string;
  digest: Digest;
  /** What had to be mended to read it so, least first; nothing where it stands as it should. */
  mended: readonly HeaderFault[];
}

/** In the encoding of the scheme, hex or base64; `cut` where only the beginning of it is there. */
export interface Digest {
  text: string;
  cut: boolean;
}

export interface HeaderFault {
  cause:
    'wrong_header' | 'signature_format' | 'signature_cut' | 'timestamp_changed' | 'timestamp_missing' | 'id_changed';
  /** What is wrong, as a sentence. */
  message: string;
  fix: string;
}

/** What a header holds of each scheme, however it is wrapped. */
const LOOSE: Record<Scheme, RegExp> = {
  [GATEWAY]: /(?<![0-9a-z+/_-])[0-9a-f]{16,64}(?![0-9a-z+/=_-])/gi,
  [STANDARD]: /(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{20,44}={0,2}(?![A-Za-z0-9+/=_-])/g,
};
const WHOLE: Record<Scheme, number> = { [GATEWAY]: 64, [STANDARD]: 44 };
const OTHER: Record<Scheme, Scheme> = { [GATEWAY]: STANDARD, [STANDARD]: GATEWAY };
const TIME_IN_SIGNATURE = /\bt\s*[=:]\s*"?(\d{1,12})(?!\d)/;
const SECONDS = /^\d{1,12}$/;

/**
 * `name: value` lines, a JSON object of headers, or what `curl -v` prints. Names come out in lower case, and those of CGI
 * (`HTTP_X_GATEWAY_SIGNATURE`) as they were sent. Lines that are no header, such as a request line, are left out.
 */
export function readHeaders(text: string): HeaderLine[] {
  const bare = text.replace(/^\u{feff}/u, '');
  return (objectOf(bare) ?? bare.split(/\r?\n/)).flatMap((line) => {
    const [, name, value] = /^\s*(?:[<>] )?([\w!#$%&'*+.^`|~-]+)\s*:\s?(.*)$/s.exec(line) ?? [];
    return name === undefined ? [] : [[sentName(name), value!.trim()] as const];
  });
}

function objectOf(text: string): string[] | undefined {
  if (!text.trimStart().startsWith('{')) return undefined;
  try {
    const entries = Object.entries(JSON.parse(text) as Record<string, unknown>);
    return entries.flatMap(([name, value]) => [value].flat().map((one) => `${name}: ${String(one)}`));
  } catch {
    return undefined;
  }
}

function sentName(name: string): string {
  const lower = name.toLowerCase();
  return /^http_|^(?:x_gateway|webhook|content)_/.test(lower)
    ? lower.replace(/^http_/, '').replaceAll('_', '-')
    : lower;
}

/** Every header line of that name, joined as HTTP joins them. */
export function headerOf(headers: readonly HeaderLine[], name: string): string | undefined {
  const values = headers.filter(([each]) => each === name).map(([, value]) => value);
  return values.length === 0 ? undefined : values.join(name === STANDARD ? ' ' : ',');
}

/** The schemes whose header is there, whatever it holds. */
export function schemesOf(headers: readonly HeaderLine[]): Scheme[] {
  return ([GATEWAY, STANDARD] as const).filter((scheme) => headerOf(headers, scheme) !== undefined);
}

/** Everything that one of the two headers may mean: as it stands first, then with more and more mended. */
export function claimsOf(scheme: Scheme, headers: readonly HeaderLine[], idsInBody: readonly string[]): Claim[] {
  const value = headerOf(headers, scheme) ?? '';
  const own = readings(scheme, scheme, value, headers, idsInBody);
  const other = OTHER[scheme];
  const swapped = readings(other, scheme, value, headers, idsInBody).map((claim) => ({
    ...claim,
    mended: [...claim.mended.filter(({ cause }) => cause !== 'signature_format'), swappedHeaders(scheme, other)],
  }));
  return [...own, ...swapped].toSorted((a, b) => a.mended.length - b.mended.length);
}

/** Signatures of either scheme under names that neither scheme has. */
export function strayClaimsOf(headers: readonly HeaderLine[], idsInBody: readonly string[]): Claim[] {
  return headers.flatMap(([name, value]) => {
    if (name === GATEWAY || name.startsWith('webhook-')) return [];
    return ([GATEWAY, STANDARD] as const).flatMap((scheme) =>
      readings(scheme, name, value, headers, idsInBody).map((claim) => ({
        ...claim,
        mended: [...claim.mended, wrongHeader(name, scheme)],
      })),
    );
  });
}

function readings(
  scheme: Scheme,
  header: string,
  value: string,
  headers: readonly HeaderLine[],
  idsInBody: readonly string[],
): Claim[] {
  const read = readForm(scheme, value);
  const times = timestamps(scheme, value, headers, read);
  const ids = scheme === GATEWAY ? [{ id: '', faults: [] }] : eventIds(headers, idsInBody);
  return Array.from(value.matchAll(LOOSE[scheme]), ([text]) => digestOf(scheme, text)).flatMap((digest) =>
    times.flatMap((time) =>
      ids.map(({ id, faults }): Claim => {
        const shape = read?.digests.has(digest.text)
          ? []
          : [digest.cut ? cutSignature(header) : unusualForm(scheme, header, value)];
        // Where no time stands in it, that is what is wrong with its form.
        const isTimeless = time.faults.some(({ cause }) => cause === 'timestamp_missing') && scheme === GATEWAY;
        const mended = [...time.faults, ...faults, ...(isTimeless && !digest.cut ? [] : shape)];
        return { scheme, header, timestamp: time.timestamp, id, digest, mended };
      }),
    ),
  );
}

function digestOf(scheme: Scheme, text: string): Digest {
  if (scheme === GATEWAY) return { text: text.toLowerCase(), cut: text.length < WHOLE[scheme] };
  const standard = text.replaceAll('-', '+').replaceAll('_', '/').replaceAll('=', '');
  return { text: standard, cut: standard.length < WHOLE[scheme] - 1 };
}

interface Reading {
  timestamp: string;
  faults: HeaderFault[];
}

function timestamps(
  scheme: Scheme,
  value: string,
  headers: readonly HeaderLine[],
  read: ReadForm | undefined,
): Reading[] {
  const inGateway = scheme === GATEWAY ? value : (headerOf(headers, GATEWAY) ?? '');
  const inSignature = read?.timestamp ?? TIME_IN_SIGNATURE.exec(inGateway)?.[1];
  const inHeader = headerOf(headers, 'webhook-timestamp')?.trim();
  const [own, spare] = scheme === GATEWAY ? [inSignature, inHeader] : [inHeader, inSignature];
  const where = scheme === GATEWAY ? `t in ${GATEWAY}` : 'webhook-timestamp';
  const isUsable = (time: string | undefined): time is string => time !== undefined && SECONDS.test(time);
  const found: Reading[] = isUsable(own) ? [{ timestamp: own, faults: [] }] : [];
  if (isUsable(spare) && spare !== own) {
    found.push({
      timestamp: spare,
      faults: [own === undefined ? noTimestamp(where) : changedTimestamp(where, own, spare)],
    });
  }
  return found;
}

function eventIds(
  headers: readonly HeaderLine[],
  idsInBody: readonly string[],
): { id: string; faults: HeaderFault[] }[] {
  const own = headerOf(headers, 'webhook-id');
  const spare = [headerOf(headers, 'x-gateway-event'), ...idsInBody].filter((id) => id !== undefined && id !== own);
  return [
    ...(own === undefined ? [] : [{ id: own, faults: [] }]),
    ...Array.from(new Set(spare), (id) => ({ id: id!, faults: [otherId(own, id!)] })),
  ];
}

function unusualForm(scheme: Scheme, header: string, value: string): HeaderFault {
  const form = scheme === GATEWAY ? 't=<unix seconds>,v1=<64 hex digits>' : 'v1,<44 characters of base64>';
  const looks = formOf(scheme, value);
  return {
    cause: 'signature_format',
    message: `${header} does not have the form ${form}: ${looks}.`,
    fix: 'Pass the header on exactly as it arrived: do not split, trim, quote or join it.',
  };
}

function formOf(scheme: Scheme, value: string): string {
  if (/["']/.test(value)) return 'there are quotation marks in it';
  if (scheme === GATEWAY && !/v1=/.test(value))
    return 'its "v1=" is gone, as after splitting it at the comma or the equals sign';
  if (scheme === STANDARD && !/v1,/.test(value)) return 'its "v1," is gone, as after splitting it at the comma';
  if (/\s/.test(value) && scheme === GATEWAY) return 'there is white space in it';
  if (/[A-F]/.test(value) && scheme === GATEWAY) return 'its hex digits are in upper case';
  if (/[-_]/.test(value) && scheme === STANDARD) return 'it is written in base64url';
  return 'something was added to it, changed or taken away';
}

function cutSignature(header: string): HeaderFault {
  return {
    cause: 'signature_cut',
    message: `The signature in ${header} is cut off: what is there of it is the beginning of the right one.`,
    fix: 'Pass the whole header on; look for a column, a log or a variable that is too short for it.',
  };
}

function noTimestamp(where: string): HeaderFault {
  return {
    cause: 'timestamp_missing',
    message: `The time at which it was signed is missing: there is no ${where}.`,
    fix: `Pass ${where} on along with the signature: the time is a part of what is signed.`,
  };
}

function changedTimestamp(where: string, own: string, right: string): HeaderFault {
  return {
    cause: 'timestamp_changed',
    message: `${where} says ${own}, but it was signed with ${right}.`,
    fix: `Use the time of this delivery, ${right}: the time is a part of what is signed, and a retry has another one.`,
  };
}

function otherId(own: string | undefined, right: string): HeaderFault {
  const is = own === undefined ? 'is missing' : `says ${own}`;
  return {
    cause: 'id_changed',
    message: `webhook-id ${is}, but the id that was signed is ${right}.`,
    fix: 'Pass webhook-id on as it arrived: the id is a part of what is signed.',
  };
}

function swappedHeaders(header: Scheme, meant: Scheme): HeaderFault {
  return {
    cause: 'wrong_header',
    message: `${header} holds the value of ${meant}: they are two schemes, with another key and another content each.`,
    fix: `Read the value of the header ${header} itself, or verify this one as ${meant}.`,
  };
}

function wrongHeader(name: string, meant: Scheme): HeaderFault {
  return {
    cause: 'wrong_header',
    message: `The signature stands in ${name}, and not in ${meant} where it was sent.`,
    fix: `Read the header ${meant}${name === 'stripe-signature' ? ' (Stripe has the same form, under another name)' : ''}.`,
  };
}
