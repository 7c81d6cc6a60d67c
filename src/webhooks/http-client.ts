import type * as Undici from 'undici';

let loaded: Promise<typeof Undici> | undefined;

/** The HTTP client. Loaded at the first use, because it has a hundred modules; an `import()` at each use would be slow. */
export function httpClient(): Promise<typeof Undici> {
  return (loaded ??= import('undici'));
}
