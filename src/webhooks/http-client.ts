import type * as undici from 'undici';

type HttpClient = typeof undici;

let loaded: HttpClient | undefined;

/**
 * Loads the HTTP client at its first use, because it has a hundred modules and the start of the service does not need it.
 */
export async function loadHttpClient(): Promise<HttpClient> {
  return (loaded ??= await import('undici'));
}
