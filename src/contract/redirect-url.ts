import { z } from 'zod';

const MAX_LENGTH = 2048;

// Forbidden schemes: they run code, read files, install or open programs on the buyer's machine (`ms-` for Windows and Office),
// redirect to any address (`intent` on Android), or are internal to browsers.
const NEVER =
  /^(?:javascript|data|vbscript|file|filesystem|blob|about|feed|view-source|jar|chrome|resource|search-ms|ms-.*|x-apple.*|intent|android-app|itms-.*|shell|ssh|telnet|smb|ftp|wss?)$/;
// RFC 3986, section 3.1.
const SCHEME = /^[a-z][a-z0-9+.-]*$/;
// RFC 8252, section 7.1: a reversed domain name of the app's owner.
const DOTTED = /[^.]\.[^.]/;
const UNSAFE = /[\u0000-\u0020\u007f-\u009f\\]/;
// RFC 3986, section 2: the characters of `format: uri`.
const URI_CHARACTERS = /^[A-Za-z][A-Za-z0-9+.-]*:(?:[A-Za-z0-9\-._~:/?#[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})*$/;
const LOOPBACK_HOSTS = new Set(['localhost', '127.0.0.1', '[::1]']);

/** True if REDIRECT_SCHEMES may contain this app scheme (in lower case, without a colon). */
export function isNameableScheme(scheme: string): boolean {
  return SCHEME.test(scheme) && scheme !== 'http' && scheme !== 'https' && !NEVER.test(scheme);
}

/** Field for an absolute URI to which a browser can be redirected; `named` are the app schemes that the operator allows. */
export function redirectUrlField(named: readonly string[]) {
  return z
    .string()
    .check((context) => {
      const message = redirectFault(context.value, named);
      if (message !== undefined) {
        context.issues.push({ code: 'invalid_format', format: 'uri', message, input: context.value });
      } else if (context.value.length > MAX_LENGTH) {
        const bound = { origin: 'string', maximum: MAX_LENGTH, inclusive: true } as const;
        context.issues.push({ code: 'too_big', ...bound, input: context.value });
      }
    })
    .meta({ format: 'uri', maxLength: MAX_LENGTH, examples: ['https://shop.example/thanks'] });
}

/** Reason why `value` is rejected as a redirect URL; undefined if `value` is allowed. */
export function redirectFault(value: string, named: readonly string[]): string | undefined {
  if (!value.isWellFormed() || UNSAFE.test(value)) return 'must not contain spaces, backslashes or control characters';
  if (!URI_CHARACTERS.test(value)) return 'must contain only URI characters; percent-encode others';
  const scheme = URL.parse(value)?.protocol.slice(0, -1);
  if (scheme === undefined) return 'must be an absolute URI';
  const isWeb = scheme === 'http' || scheme === 'https';
  if (!isWeb && (NEVER.test(scheme) || !(DOTTED.test(scheme) || named.includes(scheme)))) {
    return 'must use https, http, an app scheme with a dot such as com.example.app, or a scheme that the operator allows';
  }
  if (/^[^/?#]*\/\/[^/?#]*@/.test(value)) return 'must not contain a user name or password';
  if (isWeb && !/^https?:\/\/[^/]/i.test(value)) return 'must be an absolute URI';
  return undefined;
}

/** True for an http URL of another machine. Production sessions reject such URLs, so that every redirect is encrypted. */
export function isPlainHttp(value: string): boolean {
  const url = URL.parse(value);
  return url?.protocol === 'http:' && !LOOPBACK_HOSTS.has(url.hostname);
}
