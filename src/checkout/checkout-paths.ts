import type { Urls } from '../contract/session-contract.ts';

export type Step = 'pay' | 'switch' | 'cancel' | 'continue' | 'complete' | 'status';

/** Paths of the buyer's pages as the browser sees them: a proxy may serve them below a path of its own. */
export interface Paths {
  checkout(sessionId: string): string;
  step(sessionId: string, step: Step): string;
  asset(path: string): string;
}

export function createPaths(urls: Urls): Paths {
  const root = new URL(urls.checkout).pathname.replace(/\/+$/, '');
  const checkout = (sessionId: string) => `${root}/checkout/${encodeURIComponent(sessionId)}`;
  return {
    checkout,
    step: (sessionId, step) => `${checkout(sessionId)}/${step}`,
    asset: (path) => `${root}${path}`,
  };
}
