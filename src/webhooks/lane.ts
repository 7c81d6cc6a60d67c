import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { Delivery, DeliveryAttempt } from '../domain/delivery.ts';
import type { Instant } from '../domain/records.ts';
import { type SealedSecret, type WebhookEndpoint, signs } from '../domain/webhook-endpoint.ts';
import type { Change, Store } from '../store/store.ts';
import type { DueDelivery } from '../store/webhooks.ts';
import { NOBODY, onBehalfOf, onNobodysBehalf } from '../telemetry/origin.ts';
import type { Tracing } from '../telemetry/tracing.ts';
import type { Deliverer, Exchange } from './deliver.ts';
import { createEndpointHealth } from './endpoint-health.ts';
import { giveUpWaiting } from './give-up.ts';
import { judgeAttempt } from './retry.ts';
import { sendTraced } from './send-traced.ts';
import { deliveryHeaders } from './sign.ts';

/** How long a claimed delivery is left to whoever claimed it; far longer than an attempt can last. */
export const LEASE_MS = 60_000;

const ERROR_PAUSE_MS = 1000;
const FIRST_WINDOW = 8;
const MAX_WINDOW = 32;
// Wide enough for the sessions that are well to get past those that are not.
const MIN_WINDOW = 4;
// An attempt that takes longer gives its place in the window up, so that a session that hangs does not hold up another
// session of the same endpoint.
const PATIENCE_MS = 1000;
// Claims wait for the disk, attempts do not: so many windows are claimed ahead, for the places that become free.
const AHEAD = 3;

/** A secret as deliveries are signed with it. */
export interface SigningSecret extends Pick<SealedSecret, 'expiresAt'> {
  /** `whsec_...` */
  secret: string;
}

export interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface LaneContext {
  store: Store;
  now: () => Instant;
  /** The time by which receivers go. */
  realNow: () => Instant;
  random: () => number;
  /** Asked once for each version of the endpoint. */
  secretsOf: (endpoint: WebhookEndpoint) => Promise<readonly SigningSecret[]>;
  log: Log;
  deliverer: Deliverer;
  tracing: Tracing | undefined;
  /** Nothing is begun any more once it is aborted. */
  stopping: AbortSignal;
  /** Whether attempts under way have been cut off by ourselves, so that their failure is not the receiver's. */
  isCutOff(): boolean;
  /** Takes note of work that must have ended before the process may; it never rejects. */
  track(work: Promise<void>): void;
  countAttempt(): void;
  countFailure(): void;
  /** Until when something is to be due that is begun now: `now`, or less. */
  dueBy(): Instant;
}

/** The deliveries of one endpoint. Nothing in here is shared with another endpoint. */
export interface Lane {
  /** What is known of the endpoint now. */
  endpoint: WebhookEndpoint;
  /** Lets what is due be claimed and begun, as far as there are places. What fails is logged. */
  fill(): void;
  /** Gives back what was claimed and has not begun. Never rejects. */
  release(reason: string): Promise<void>;
}

export function createLane(first: WebhookEndpoint, context: LaneContext): Lane {
  const { store, now, log, stopping } = context;
  const lane: Lane = { endpoint: first, fill: () => onNobodysBehalf(fill), release };
  /** How many attempts may be under way: grows with every success, shrinks with every failure. */
  let window = FIRST_WINDOW;
  /** When each attempt under way began, by the monotonic clock. */
  const underWay = new Set<{ since: number }>();
  /** Claimed ahead, so that a place that becomes free need not wait for the database. */
  let ready: DueDelivery[] = [];
  /** What this version of the endpoint signs with. */
  let signing: { version: number; secrets: readonly SigningSecret[] } | undefined;
  const health = createEndpointHealth({ store, log });
  let claiming = false;
  let again = false;
  let warned = false;

  function fill(): void {
    const correction = health.correct(lane.endpoint);
    if (correction) context.track(correction);
    beginReady();
    again = true;
    if (!claiming) context.track(claimWhileAsked());
  }

  async function claimWhileAsked(): Promise<void> {
    claiming = true;
    try {
      while (again && !stopping.aborted) {
        again = false;
        // What ends in the same turn of the event loop is made up for by one claim.
        await nextTurn();
        await claimDue();
      }
    } catch (error) {
      context.countFailure();
      log.error({ err: error, endpointId: lane.endpoint.id }, 'webhook deliveries could not be claimed');
      await pause();
    } finally {
      claiming = false;
    }
  }

  function freePlaces(): number {
    const patience = performance.now() - PATIENCE_MS;
    let quick = 0;
    for (const { since } of underWay) if (since > patience) quick++;
    return Math.min(window - quick, maxUnderWay() - underWay.size);
  }

  /** So many sockets a hanging endpoint may hold; and all that is claimed fits in, well within its lease. */
  function maxUnderWay(): number {
    return Math.max(window, FIRST_WINDOW) * (1 + AHEAD);
  }

  async function claimDue(): Promise<void> {
    const { endpoint } = lane;
    const dueBy = context.dueBy();
    if (dueBy === -Infinity) return;
    // Whoever has claimed something by what he knew of it before has no lease any more after two of them.
    if (endpoint.status === 'deleting') return giveUpWaiting(store, endpoint, dueBy, 2 * LEASE_MS);
    if (endpoint.status !== 'active' || !(await canSign(endpoint))) return;
    const places = Math.min(freePlaces() + AHEAD * window, maxUnderWay() - underWay.size) - ready.length;
    if (places <= 0) return;
    const due = await store.deliveriesDue(endpoint.id, dueBy, places);
    const claims = await Promise.allSettled(due.map(claim));
    const failed = claims.find((result) => result.status === 'rejected');
    if (failed) throw failed.reason;
  }

  async function claim({ delivery, ...due }: DueDelivery): Promise<void> {
    const claimed: Delivery = { ...delivery, attempts: delivery.attempts + 1, dueAt: now() + LEASE_MS };
    const result = await store.commit([{ type: 'delivery_claimed', delivery: claimed }]);
    // Otherwise somebody else was faster.
    if (!result.done) return;
    ready.push({ ...due, delivery: claimed });
    beginReady();
  }

  function beginReady(): void {
    if (ready.length === 0) return;
    if (stopping.aborted) {
      // Otherwise there is still time for the claims to arrive together, and be given back at the end.
      if (context.isCutOff()) context.track(release('not attempted: the service stopped'));
      return;
    }
    if (lane.endpoint.status !== 'active') {
      context.track(release('not attempted: the endpoint is disabled'));
      return;
    }
    // Where the window has shrunk, what was claimed under the wider one must not wait until its lease is over.
    const count = Math.max(freePlaces(), ready.length - AHEAD * window);
    if (count > 0) for (const claimed of ready.splice(0, count)) context.track(onItsBehalf(claimed));
  }

  async function canSign(endpoint: WebhookEndpoint): Promise<boolean> {
    const { id: endpointId, version } = endpoint;
    if (signing?.version !== version) signing = { version, secrets: await context.secretsOf(endpoint) };
    if (signing.secrets.length > 0) return true;
    if (!warned) log.warn({ endpointId }, 'webhook endpoint has no secret that this process knows: its events wait');
    warned = true;
    return false;
  }

  /** Of the request that the event came of. */
  function onItsBehalf(claimed: DueDelivery): Promise<void> {
    return onBehalfOf(claimed.origin ?? NOBODY, () => attempt(claimed));
  }

  async function attempt({ delivery, body }: DueDelivery): Promise<void> {
    const { endpoint } = lane;
    const place = { since: performance.now() };
    underWay.add(place);
    context.countAttempt();
    const started = now();
    const timestamp = Math.floor(context.realNow() / 1000);
    const secrets = signing!.secrets.filter((one) => signs(one, started)).map(({ secret }) => secret);
    const headers = deliveryHeaders({ eventId: delivery.eventId, body, timestamp, secrets });
    const exchange = await sendTraced(context, { delivery, url: endpoint.url, headers, body });
    underWay.delete(place);
    adjustWindow(exchange);
    // Asked first, so that this outcome and the claims for the free places share one commit of the database.
    const finished = finish(endpoint, delivery, exchange, started);
    lane.fill();
    await finished;
    // What waited behind this delivery may go now.
    lane.fill();
  }

  async function release(reason: string): Promise<void> {
    const unbegun = ready;
    ready = [];
    await Promise.all(
      unbegun.map(({ delivery }) => {
        const at = now();
        const exchange: Exchange = { statusCode: null, failure: reason, responseBody: '', durationMs: 0 };
        return write({ ...repeated(delivery, attemptOf(delivery, exchange, at, at), at), unmade: true });
      }),
    );
  }

  function adjustWindow({ statusCode }: Exchange): void {
    window = statusCode === 200 ? Math.min(window + 1, MAX_WINDOW) : Math.max(Math.floor(window / 2), MIN_WINDOW);
  }

  function finish(endpoint: WebhookEndpoint, delivery: Delivery, exchange: Exchange, started: Instant): Promise<void> {
    const ended = now();
    const { environment, id: endpointId } = endpoint;
    const { attempts, scheduleStart, id: deliveryId } = delivery;
    if (exchange.statusCode === null && context.isCutOff()) {
      const cut: Exchange = { ...exchange, failure: 'cut off: the service stopped' };
      return write(repeated(delivery, attemptOf(delivery, cut, started, ended), ended));
    }

    const inSchedule = attempts - scheduleStart;
    const verdict = judgeAttempt({ ...exchange, environment, attempts: inSchedule, random: context.random() });
    if (verdict.status === 'delivered') {
      log.info({ endpointId, deliveryId, eventId: delivery.eventId, attempts }, 'webhook delivered');
    } else {
      const level = verdict.status === 'dead' ? 'warn' : 'info';
      log[level]({ endpointId, deliveryId, attempts, ...verdict, failure: exchange.failure }, 'webhook not delivered');
    }
    const gone = verdict.status === 'dead' && verdict.gone;
    const learnt = health.learn(lane.endpoint, { endpoint, gone, succeeded: exchange.statusCode === 200, at: ended });
    lane.endpoint = learnt.endpoint;
    if (learnt.write) context.track(learnt.write);
    const dueAt = verdict.status === 'pending' ? ended + verdict.delayMs : ended;
    const finished: Delivery = { ...delivery, status: verdict.status, dueAt };
    const recorded = attemptOf(delivery, exchange, started, ended);
    return write({ type: 'delivery_finished', delivery: finished, attempt: recorded });
  }

  /** Writes an outcome. Where the lease ran out and somebody else has begun, this is a conflict, and changes nothing. */
  async function write(change: Finished): Promise<void> {
    const leaseEnd = now() + LEASE_MS;
    // An outcome that is lost means one attempt more than needed: worth trying for about as long as a lease lasts.
    for (;;) {
      try {
        await store.commit([change]);
        return;
      } catch (error) {
        const { id: deliveryId, endpointId } = change.delivery;
        log.error({ err: error, endpointId, deliveryId }, 'webhook outcome could not be written');
        if (stopping.aborted || now() >= leaseEnd) return;
        await pause();
      }
    }
  }

  async function pause(): Promise<void> {
    await sleep(ERROR_PAUSE_MS, undefined, { signal: stopping }).catch(() => undefined);
  }

  return lane;
}

type Finished = Extract<Change, { type: 'delivery_finished' }>;

function attemptOf(delivery: Delivery, exchange: Exchange, started: Instant, ended: Instant): DeliveryAttempt {
  return {
    deliveryId: delivery.id,
    number: delivery.attempts,
    started,
    // Never later than the clock: what waits behind this delivery becomes due when this attempt ends.
    durationMs: Math.min(exchange.durationMs, Math.max(0, ended - started)),
    statusCode: exchange.statusCode,
    failure: exchange.failure,
    responseBody: exchange.responseBody,
  };
}

/** An attempt that failed for a reason of ours: it does not count in the schedule, and the next one may begin at once. */
function repeated(delivery: Delivery, attempt: DeliveryAttempt, now: Instant): Finished {
  return {
    type: 'delivery_finished',
    delivery: { ...delivery, status: 'pending', scheduleStart: delivery.scheduleStart + 1, dueAt: now },
    attempt,
  };
}
