import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import type { RandomBytes } from '../domain/id.ts';
import type { Store } from '../store/store.ts';
import type { Worker } from '../workers/worker.ts';
import { simulatorApi } from './api.ts';
import { createCallbackWorker } from './callbacks.ts';
import type { SimulatorDeps } from './charges.ts';
import { simulatorPages } from './pages.ts';

const SLOW_ANSWER_MS = 8000;

export interface SimulatorOptions {
  store: Store;
  /** What the merchant's gateway identifies itself with. */
  apiKey: string;
  /** What callbacks are signed with, and where they go. */
  callbackSecret: string;
  callbackUrl: string;
  /** Where buyers reach the pages, without a trailing slash. */
  publicUrl: string;
  /** Milliseconds since 1970. */
  now: () => number;
  /** The time by which callbacks are signed; `now` where it is left out. */
  realNow?: () => number;
  randomBytes: RandomBytes;
  log: Logger;
  /** How long after it has taken the money it pays the merchant; 0, which is the default: never. */
  settlementDelayMs?: number;
  /** Longer than a gateway waits: the answer to a handoff that is to time out. Default 8 s. */
  slowAnswerMs?: number;
}

export interface Simulator {
  /** Adds the provider's API and pages to an app. */
  part: (app: FastifyInstance) => void;
  /** Sends its callbacks. */
  worker: Worker;
}

/**
 * A payment provider that moves no money: a second party with an API, pages and signed callbacks of its own, which knows
 * the gateway by its HTTP interface only. It shares nothing with it but the database, where it has its own tables.
 */
export function createSimulator(options: SimulatorOptions): Simulator {
  const { store, now, realNow = now, randomBytes, slowAnswerMs = SLOW_ANSWER_MS, settlementDelayMs = 0 } = options;
  const deps: SimulatorDeps = { store, now, randomBytes, settlementDelayMs };
  return {
    part(app) {
      simulatorApi(app, deps, { ...options, slowAnswerMs });
      simulatorPages(app, deps, options.publicUrl);
    },
    worker: createCallbackWorker(deps, { ...options, realNow }),
  };
}
