import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import type { RandomBytes } from '../domain/id.ts';
import type { Worker } from '../workers/worker.ts';
import { simulatorApi } from './simulator-api.ts';
import { createCallbackWorker } from './simulator-callbacks.ts';
import type { SimulatorDeps } from './simulated-charges.ts';
import { simulatorPages } from './simulator-pages.ts';
import type { SimulatorStore } from './simulator-store.ts';

const SLOW_ANSWER_MS = 8000;

export interface SimulatorOptions {
  store: SimulatorStore;
  /** API key of the merchant's gateway. */
  apiKey: string;
  /** Key of the callbacks' signatures. */
  callbackSecret: string;
  callbackUrl: string;
  /** Origin of the buyer's pages, without a trailing slash. */
  publicUrl: string;
  /** Milliseconds since 1970. */
  now: () => number;
  /** Time of the callbacks' signatures; by default `now`. */
  realNow?: () => number;
  randomBytes: RandomBytes;
  log: Logger;
  /** Time from a capture to its payout; 0, the default: the provider never pays out. */
  settlementDelayMs?: number;
  /** Delay of the answer to a handoff that is to time out, longer than a gateway waits. Default 8 s. */
  slowAnswerMs?: number;
}

export interface Simulator {
  /** Adds the provider's API and pages to an app. */
  part: (app: FastifyInstance) => void;
  /** Sends the callbacks. */
  worker: Worker;
}

/**
 * A payment provider that moves no money: a second party with an API, pages and signed callbacks of its own, which talks to
 * the gateway over HTTP only. Both use the same database, but the provider has its own tables.
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
