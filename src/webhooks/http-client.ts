import type * as undici from 'undici';

type HttpClient = typeof undici;

let loaded: HttpClient | undefined;

/** The HTTP client, loaded at its first use: it is a hundred modules, and no request at the start needs it. */
export async function loadHttpClient(): Promise<HttpClient> {
  return (loaded ??= await import('undici'));
}
