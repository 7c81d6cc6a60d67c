import { type Scheme, GATEWAY } from './schemes.ts';

/** What a receiver with the SDK reads in a signature header. */
export interface ReadForm {
  /** Unix seconds as they stand; undefined in the scheme that has them in a header of their own. */
  timestamp: string | undefined;
  /** Hex, or base64 without padding. */
  digests: ReadonlySet<string>;
}

// Those of the SDK, which refuses a header whole where one of its signatures does not have the form.
const HEX = /^[0-9a-f]{64}$/;
const BASE64 = /^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/;
const SECONDS = /^\d{1,12}$/;
const MAX_SIGNATURES = 20;

/** Undefined where a receiver refuses the form. Parts of other versions are let pass. */
export function readForm(scheme: Scheme, value: string): ReadForm | undefined {
  return scheme === GATEWAY ? readGateway(value) : readStandard(value);
}

function readGateway(value: string): ReadForm | undefined {
  const parts = value.split(',', MAX_SIGNATURES + 1).map((part) => part.trim());
  const timestamp = parts.find((part) => part.startsWith('t='))?.slice('t='.length) ?? '';
  const digests = parts.filter((part) => part.startsWith('v1=')).map((part) => part.slice('v1='.length));
  const isWhole = SECONDS.test(timestamp) && digests.length > 0 && digests.every((digest) => HEX.test(digest));
  return isWhole ? { timestamp, digests: new Set(digests) } : undefined;
}

function readStandard(value: string): ReadForm | undefined {
  const parts = value.split(/,? +/, MAX_SIGNATURES);
  const digests = parts.filter((part) => part.startsWith('v1,')).map((part) => part.slice('v1,'.length));
  if (digests.length === 0 || !digests.every((digest) => BASE64.test(digest))) return undefined;
  return { timestamp: undefined, digests: new Set(digests.map((digest) => digest.replace('=', ''))) };
}
