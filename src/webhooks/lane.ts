import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { Delivery } from '../domain/delivery.ts';
import type { Instant } from '../domain/records.ts';
import { type SealedSecret, type WebhookEndpoint, isSigningSecret } from '../domain/webhook-endpoint.ts';
import type { Store } from '../store/store.ts';
import type { DueDelivery } from '../store/webhooks-port.ts';
import { NO_ORIGIN, runWithOrigin, runWithoutOrigin } from '../telemetry/origin.ts';
import type { Tracing } from '../telemetry/tracing.ts';
import {
  type FinishedDelivery,
  attemptOf,
  cutOffOutcome,
  sendAttempt,
  type EndpointHealthChange,
  learnFromAttempt,
  cancelPendingDeliveries,
} from './attempt.ts';
import { createAttemptWindow } from './attempt-window.ts';
import { type Deliverer, type Exchange, notSent } from './deliver.ts';
import { judgeAttempt } from './retry.ts';
import { deliveryHeaders } from './sign.ts';

/** Lease of a claimed delivery; far longer than an attempt can last. */
export const LEASE_MS = 60_000;

const ERROR_PAUSE_MS = 1000;

/** Decrypted signing secret. */
export interface SigningSecret extends Pick<SealedSecret, 'expiresAt'> {
  /** `whsec_...` */
  secret: string;
}

/** The secrets that are valid at `now`. */
export function liveSecrets(secrets: readonly SigningSecret[], now: Instant): string[] {
  return secrets.filter((one) => isSigningSecret(one, now)).map(({ secret }) => secret);
}

export interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** Dependencies of the dispatcher and of its lanes. */
export interface DeliveryDeps {
  store: Store;
  now: () => Instant;
  /** Real time, for the timestamps of signatures. */
  realNow: () => Instant;
  /** Random number from 0 up to, not including, 1. */
  random: () => number;
  /** Secrets of an endpoint version, the newest first; several during a rotation. Without any, nothing is sent. */
  secretsOf: (endpoint: WebhookEndpoint) => Promise<readonly SigningSecret[]>;
  log: Log;
  /** Undefined without tracing. */
  tracing: Tracing | undefined;
}

/** Dependencies that the dispatcher gives to each lane. */
export interface LaneContext extends DeliveryDeps {
  deliverer: Deliverer;
  /** Aborted when no more attempts may begin. */
  stopping: AbortSignal;
  /** True once this process has cut off the attempts in progress. Their failure is then not the fault of the receiver. */
  isCutOff(): boolean;
  /** Latest due time of a delivery that may begin: the present, or earlier; -Infinity if none may. */
  dueBy(): Instant;
  /** Registers work that must end before the process exits. */
  track(work: Promise<void>): void;
  /** Counts an attempt, or a failed claim of due deliveries. */
  count(): void;
}

/** Delivery loop of one endpoint. Lanes share no state, so that no endpoint delays another. */
export interface Lane {
  /** The endpoint as last read, updated with the results of later attempts. */
  endpoint: WebhookEndpoint;
  /** Claims due deliveries and begins their attempts, up to the limit of attempts in progress. Failures are logged. */
  fill(): void;
  /** True if the lane may claim a new delivery. */
  canTake(): boolean;
  /** Claims a new delivery, whose change set was just queued, and begins its attempt. Returns false if it cannot be claimed now. */
  take(stored: DueDelivery): Promise<boolean>;
  /** Releases claimed deliveries whose attempt has not begun. Never rejects. */
  release(reason: string): Promise<void>;
}

export function createLane(first: WebhookEndpoint, context: LaneContext): Lane {
  const { store, now, log, stopping } = context;
  const lane: Lane = { endpoint: first, fill: () => runWithoutOrigin(fill), canTake, take, release };
  const window = createAttemptWindow();
  /** Deliveries claimed in advance. */
  let ready: DueDelivery[] = [];
  /** Secrets of the endpoint's current version. */
  let signing: { version: number; secrets: readonly SigningSecret[] } | undefined;
  /** Number of claims that are not committed yet. */
  let claims = 0;
  /** True if there may be due deliveries for which the lane had no place. */
  let hasBacklog = false;
  let claiming = false;
  let again = false;
  let warned = false;

  function fill(): void {
    beginReady();
    again = true;
    if (!claiming) context.track(claimUntilIdle());
  }

  async function claimUntilIdle(): Promise<void> {
    claiming = true;
    try {
      while (again && !stopping.aborted) {
        again = false;
        // Waits one turn of the event loop, so that one claim replaces all attempts that end in that turn.
        await nextTurn();
        await claimDue();
      }
    } catch (error) {
      context.count();
      log.error({ err: error, endpointId: lane.endpoint.id }, 'webhook deliveries could not be claimed');
      await pause();
    } finally {
      claiming = false;
    }
  }

  async function claimDue(): Promise<void> {
    const { endpoint } = lane;
    const dueBy = context.dueBy();
    if (dueBy === -Infinity) return;
    // After two leases, no instance has a claim from before the deletion.
    if (endpoint.status === 'deleting') return cancelPendingDeliveries(store, endpoint, dueBy, 2 * LEASE_MS);
    if (endpoint.status !== 'active' || !(await canSign(endpoint))) return;
    const places = window.claimable(ready.length + claims);
    hasBacklog = places <= 0;
    if (hasBacklog) return;
    const due = await store.deliveriesDue(endpoint.id, dueBy, places);
    hasBacklog = due.length >= places;
    const claimed = await Promise.allSettled(due.map((one) => claim(one)));
    const failed = claimed.find((result) => result.status === 'rejected');
    if (failed) throw failed.reason;
  }

  function canTake(): boolean {
    const { status, version } = lane.endpoint;
    const canSend = status === 'active' && signing?.version === version && signing.secrets.length > 0;
    // Older deliveries come first.
    return canSend && !hasBacklog && window.claimable(ready.length + claims) > 0;
  }

  function take(stored: DueDelivery): Promise<boolean> {
    return claim(stored, lane.endpoint.version);
  }

  /**
   * Claims a delivery. With `endpointVersion`, requires that the endpoint has this version and that no earlier delivery of the session
   * is pending. Returns false if the claim is a conflict.
   */
  async function claim({ delivery, ...due }: DueDelivery, endpointVersion?: number): Promise<boolean> {
    const claimed: Delivery = { ...delivery, attempts: delivery.attempts + 1, dueAt: now() + LEASE_MS };
    claims++;
    try {
      const { done } = await store.commit([{ type: 'delivery_claimed', delivery: claimed, endpointVersion }]);
      if (!done) return false;
    } finally {
      claims--;
    }
    ready.push({ ...due, delivery: claimed });
    beginReady();
    return true;
  }

  function beginReady(): void {
    if (ready.length === 0) return;
    if (stopping.aborted) {
      // Releases all claimed deliveries together at the cut-off, because claims in progress can still succeed until then.
      if (context.isCutOff()) context.track(release('not attempted: the service stopped'));
      return;
    }
    if (lane.endpoint.status !== 'active') {
      context.track(release('not attempted: the endpoint is disabled'));
      return;
    }
    for (const claimed of ready.splice(0, window.beginnable(ready.length))) {
      context.track(runWithOrigin(claimed.origin ?? NO_ORIGIN, () => attempt(claimed)));
    }
  }

  async function canSign(endpoint: WebhookEndpoint): Promise<boolean> {
    const { id: endpointId, version } = endpoint;
    if (signing?.version !== version) signing = { version, secrets: await context.secretsOf(endpoint) };
    if (signing.secrets.length > 0) return true;
    if (!warned) log.warn({ endpointId }, 'webhook endpoint has no secret that this process knows: its events wait');
    warned = true;
    return false;
  }

  async function attempt({ delivery, body }: DueDelivery): Promise<void> {
    const { endpoint } = lane;
    const end = window.begin();
    context.count();
    const started = now();
    const timestamp = Math.floor(context.realNow() / 1000);
    const secrets = liveSecrets(signing!.secrets, started);
    const headers = deliveryHeaders({ eventId: delivery.eventId, body, timestamp, secrets });
    const exchange = await sendAttempt(context, delivery, endpoint.url, headers, body);
    end(exchange.statusCode === 200);
    // Writes the outcome before the next claims, so that the outcome and the claims share one commit of the database.
    const finished = finish(endpoint, delivery, exchange, started);
    if (hasBacklog) lane.fill();
    else beginReady();
    await finished;
    // The delivery of the session's next event may begin now.
    lane.fill();
  }

  async function release(reason: string): Promise<void> {
    const unbegun = ready;
    ready = [];
    await Promise.all(
      unbegun.map(({ delivery }) => {
        const at = now();
        return write({ ...cutOffOutcome(delivery, attemptOf(delivery, notSent(reason), at, at), at), unmade: true });
      }),
    );
  }

  function finish(endpoint: WebhookEndpoint, delivery: Delivery, exchange: Exchange, started: Instant): Promise<void> {
    const ended = now();
    const { environment, id: endpointId } = endpoint;
    const { attempts, scheduleStart, id: deliveryId } = delivery;
    if (exchange.statusCode === null && context.isCutOff()) {
      const cut: Exchange = { ...exchange, failure: 'cut off: the service stopped' };
      return write(cutOffOutcome(delivery, attemptOf(delivery, cut, started, ended), ended));
    }

    const inSchedule = attempts - scheduleStart;
    const verdict = judgeAttempt({ ...exchange, environment, attempts: inSchedule, random: context.random() });
    const succeeded = verdict.status === 'delivered';
    if (succeeded) {
      log.info({ endpointId, deliveryId, eventId: delivery.eventId, attempts }, 'webhook delivered');
    } else {
      const level = verdict.status === 'dead' ? 'warn' : 'info';
      log[level]({ endpointId, deliveryId, attempts, ...verdict, failure: exchange.failure }, 'webhook not delivered');
    }
    const gone = verdict.status === 'dead' && verdict.gone;
    const learnt = learnFromAttempt(lane.endpoint, { endpoint, gone, succeeded, at: ended });
    lane.endpoint = learnt.endpoint;
    if (learnt.change) context.track(writeHealth(learnt.change));
    const dueAt = verdict.status === 'pending' ? ended + verdict.delayMs : ended;
    const finished: Delivery = { ...delivery, status: verdict.status, dueAt };
    const recorded = attemptOf(delivery, exchange, started, ended);
    return write({ type: 'delivery_finished', delivery: finished, attempt: recorded });
  }

  /** Writes an outcome. If another instance has begun an attempt after the lease, the commit is a conflict and changes nothing. */
  async function write(change: FinishedDelivery): Promise<void> {
    const leaseEnd = now() + LEASE_MS;
    // A lost outcome costs an unneeded attempt, so writing is retried for about as long as a lease.
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

  async function writeHealth(change: EndpointHealthChange): Promise<void> {
    const { endpointId } = change;
    try {
      const { done } = await store.commit([change]);
      const isDisabled = done && change.type === 'endpoint_disabled';
      if (isDisabled) log.warn({ endpointId, reason: change.reason }, 'webhook endpoint is disabled');
    } catch (error) {
      // The next attempt reports the state again.
      log.error({ err: error, endpointId }, 'the state of a webhook endpoint could not be written');
    }
  }

  async function pause(): Promise<void> {
    await sleep(ERROR_PAUSE_MS, undefined, { signal: stopping }).catch(() => undefined);
  }

  return lane;
}
