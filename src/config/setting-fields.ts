import { z } from 'zod';
import { isNameableScheme } from '../contract/redirect-url.ts';
import { environmentOfKey } from '../domain/api-key.ts';

/** Error for a missing or invalid setting. Its message is one line. */
export class ConfigError extends Error {}

export const url = z.url({ protocol: /^https?$/, error: 'must be an http or https URL' });
// URL of this service. Normalised and without a trailing slash, because the service appends paths to it and sends it in headers.
export const origin = url
  .refine((value) => {
    const parsed = URL.parse(value);
    return !parsed || parsed.username + parsed.password + parsed.search + parsed.hash === '';
  }, 'must have no user name, password, query or fragment')
  .transform((value) => new URL(value).href.replace(/\/+$/, ''));
export const flag = z
  .enum(['true', 'false'], { error: 'must be true or false' })
  .transform((value) => value === 'true');
export const oneOf = <Names extends [string, ...string[]]>(...names: Names) =>
  z.enum(names, { error: `must be one of ${names.join(', ')}` });
export const number = (error: string) =>
  z
    .string()
    .regex(/^\d+(\.\d+)?$/, error)
    .transform(Number);
export const positive = (unit: string) =>
  number(`must be a number of ${unit}`).pipe(
    z.number().int(`must be a whole number of ${unit}`).positive(`must be more than 0 ${unit}`),
  );
const PORT_ERROR = 'must be a port: 0 to 65535';
export const port = number(PORT_ERROR).pipe(z.number().int(PORT_ERROR).max(65_535, PORT_ERROR));

export const secondsUpTo = (max: number) =>
  positive('seconds').pipe(z.number().max(max, `must be at most ${max} seconds`));

export const splitAtCommas = (value: string) => value.split(',').map((text) => text.trim());

/** Texts separated by commas. */
export const texts = z.string().transform(splitAtCommas);

const KEY_FORM = /^[A-Za-z0-9+/]{43}=$/;

/** Keys of 32 bytes in base64, separated by commas. */
export const encryptionKeys = texts
  .refine(
    (keys) => keys.every((key) => KEY_FORM.test(key)),
    'must be base64 of 32 random bytes, "openssl rand -base64 32"; separate several keys by commas, the first one encrypts',
  )
  .transform((keys) => keys.map((key): Uint8Array => Buffer.from(key, 'base64')));

/** Texts of API keys, separated by commas. */
export const apiKeys = texts.refine(
  (keys) => keys.every((key) => environmentOfKey(key) !== undefined),
  'must be keys separated by commas, each sk_sandbox_ or sk_live_ and 43 random letters or digits',
);

/** IANA name of a time zone. Offsets such as +05:37 are rejected, because sums are stored per quarter of an hour. */
export const timeZone = z.string().refine((name) => {
  try {
    return /^[A-Z]/i.test(name) && new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}, 'must be the IANA name of a time zone, for example Europe/Berlin, America/New_York or UTC');

/** At most three metadata keys, separated by commas. */
export const metadataKeys = texts.refine(
  (keys) => keys.length <= 3 && keys.every((key) => /^[^"\\]{1,500}$/.test(key)),
  'must be at most three metadata keys, separated by commas, such as orderId,sku',
);

/** App schemes, separated by commas. */
export const appSchemes = texts
  .transform((schemes) => schemes.map((scheme) => scheme.toLowerCase()))
  .refine(
    (schemes) => schemes.every(isNameableScheme),
    'must be app schemes separated by commas, without a colon, such as myapp; https and http are always allowed, and schemes that run code or open files or other programs are never allowed',
  );

const SSL_MODES = ['verify-full', 'no-verify', 'disable'];

/** Error message for an invalid database URL, without any part of its password. */
export function faultOfDatabaseUrl(value: string): string | undefined {
  if (/^sqlite:(?:.*:memory:|file:)/.test(value)) {
    return 'must contain a file path, for example sqlite:./data/tillway.db: an in-memory database would be lost at exit';
  }
  if (/^sqlite:.+/.test(value)) return undefined;
  if (!/^postgres(?:ql)?:\/\//.test(value)) {
    return 'must be sqlite:<path>, for example sqlite:./data/tillway.db, or postgres://<user>:<password>@<host>:<port>/<database>';
  }
  if (/^[^?]*,/.test(value)) return 'must contain one host: an address that always leads to the primary';
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (!url || url.hostname === '' || !/^\/[^/@]+$/.test(url.pathname) || url.hash !== '') {
    return 'must be postgres://<user>:<password>@<host>:<port>/<database>; percent-encode characters such as @ / # : in the password';
  }
  const mode = url.searchParams.get('sslmode');
  if (mode === null || SSL_MODES.includes(mode)) return undefined;
  return `must have sslmode ${SSL_MODES.join(', ')}: verify-full accepts sslrootcert=<file> for a private certificate authority, no-verify does not check certificates`;
}
