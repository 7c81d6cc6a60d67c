import type { Logger } from 'pino';
import type { Instant } from '../../domain/records.ts';
import type { Environment, Route } from '../../domain/route.ts';
import { SIMULATOR_ID } from '../../providers/all.ts';
import type { CheckResult, Finding, Provider } from '../../providers/provider.ts';

const SECOND_MS = 1000;
/** Delay from a failed check to the next check, by the number of consecutive failures. The last delay is also for all further failures. */
const RETRY_DELAYS_MS = [10, 30, 60, 300].map((seconds) => seconds * SECOND_MS);
const READY_DELAY_MS = 3600 * SECOND_MS;

/** A provider instance that this process is connected to. */
export interface ConnectedInstance {
  id: string;
  adapter: string;
  environment: Environment;
  account?: string | undefined;
}

/** Result of the last check of an instance. */
interface InstanceStatus extends ConnectedInstance {
  ready: boolean;
  /** Reason why the instance is not ready, as a clause; null if it is ready. */
  reason: string | null;
  /** Time since which the instance has not been ready; null if it is ready, or before the first check. */
  notReadySince: Instant | null;
  findings: readonly Finding[];
  /** Time of the last check; null before the first one. */
  checkedAt: Instant | null;
}

/** Readiness of the providers, as this process knows it. */
export interface Readiness {
  /** Grows with every change of a reason. */
  version(): number;
  list(): readonly InstanceStatus[];
  /** Reason why routes of the instance `id` with this `network`, such as `card_network`, cannot be used; null if they can be used. */
  reasonOf(id: string, network: string): string | null;
  /** Marks an instance as not ready at once, because the provider has refused its credentials. */
  markNotReady(id: string, reason: string): void;
  /** Makes the next check of an instance due now. */
  checkSoon(id: string): void;
  /** Runs all due checks in parallel, and returns their number. */
  checkDue(): Promise<number>;
}

interface ReadinessDeps {
  instances: readonly ConnectedInstance[];
  providers(): ReadonlyMap<string, Provider>;
  /** Real time in milliseconds. */
  now(): Instant;
  log: Pick<Logger, 'info' | 'warn'>;
}

interface State extends Pick<InstanceStatus, 'reason' | 'notReadySince' | 'findings' | 'checkedAt'> {
  unavailable: Readonly<Record<string, string>>;
  /** Number of consecutive failed checks. */
  failures: number;
  dueAt: Instant;
}

const UNCHECKED: State = {
  reason: 'it has not been checked yet',
  notReadySince: null,
  findings: [],
  checkedAt: null,
  unavailable: {},
  failures: 0,
  dueAt: Number.NEGATIVE_INFINITY,
};

/** Creates the readiness of all instances. No instance is ready before its first check. */
export function createReadiness({ instances, providers, now, log }: ReadinessDeps): Readiness {
  const states = new Map(instances.map(({ id }) => [id, UNCHECKED]));
  /** Instances of which a check is in progress. */
  const checking = new Set<string>();
  let version = 0;

  function change(id: string, next: Omit<State, 'notReadySince'>): void {
    const before = states.get(id)!;
    const notReadySince = next.reason === null ? null : (before.notReadySince ?? now());
    states.set(id, { ...next, notReadySince });
    version++;
    if (next.reason !== before.reason && id !== SIMULATOR_ID) {
      if (next.reason === null) log.info({ provider: id }, `provider ${id} is ready`);
      else log.warn({ provider: id, reason: next.reason }, `provider ${id} is not ready: ${next.reason}`);
    }
    for (const { level, message, todo } of next.findings) {
      const isKnown = before.findings.some((finding) => finding.message === message);
      if (level === 'warning' && !isKnown) log.warn({ provider: id, todo }, `provider ${id}: ${message}`);
    }
  }

  async function check(id: string, provider: Provider): Promise<void> {
    const before = states.get(id)!;
    checking.add(id);
    const result = await checkProvider(provider);
    checking.delete(id);
    // During the check, the provider refused the credentials, or `checkSoon` made another check due.
    if (states.get(id) !== before) return;
    const reason = reasonOfResult(result);
    const failures = reason === null ? 0 : before.failures + 1;
    const at = now();
    const dueAt = at + (reason === null ? READY_DELAY_MS : retryDelay(failures));
    const { findings, unavailable = {} } = result;
    change(id, { reason, findings, checkedAt: at, unavailable, failures, dueAt });
  }

  return {
    version: () => version,
    list: () =>
      instances.map((instance) => {
        const { reason, notReadySince, findings, checkedAt } = states.get(instance.id)!;
        return { ...instance, ready: reason === null, reason, notReadySince, findings, checkedAt };
      }),
    reasonOf(id, network) {
      const state = states.get(id);
      // Only tests connect a provider later, whose routes are then usable without a check.
      if (!state) return null;
      const reason = state.reason ?? (Object.hasOwn(state.unavailable, network) ? state.unavailable[network]! : null);
      return reason === null ? null : `${id}: ${reason}`;
    },
    markNotReady(id, reason) {
      const before = states.get(id);
      if (!before || before.reason === reason) return;
      const findings: Finding[] = [{ level: 'error', message: reason }];
      change(id, { ...before, reason, findings, failures: 1, dueAt: now() + retryDelay(1) });
    },
    checkSoon(id) {
      const before = states.get(id);
      if (before) states.set(id, { ...before, dueAt: Number.NEGATIVE_INFINITY });
    },
    async checkDue() {
      const isDue = (id: string) => !checking.has(id) && (states.get(id)?.dueAt ?? Number.POSITIVE_INFINITY) <= now();
      const due = [...providers()].filter(([id]) => isDue(id));
      await Promise.all(due.map(([id, provider]) => check(id, provider)));
      return due.length;
    },
  };
}

/** Reason for which a route cannot be used, whatever its health; null if its provider is ready. */
export function providerReason(
  { providers, readiness }: { providers: ReadonlyMap<string, Provider>; readiness: Readiness },
  { integrationId, environment, network }: Route,
): string | null {
  const provider = providers.get(integrationId);
  if (provider?.environment !== environment) return `no provider is connected for ${integrationId}`;
  return readiness.reasonOf(integrationId, network);
}

/** Checks a provider. Returns an error finding if the check itself fails. */
export async function checkProvider(provider: Pick<Provider, 'check'>): Promise<CheckResult> {
  try {
    return await provider.check();
  } catch (error) {
    const message = `it could not be checked: ${(error as Error).message}`;
    const todo = 'Look at the connection to the provider, and at its status page.';
    return { ready: false, findings: [{ level: 'error', message, todo }] };
  }
}

function reasonOfResult({ ready, findings }: CheckResult): string | null {
  if (ready) return null;
  return findings.find(({ level }) => level === 'error')?.message ?? 'its check failed';
}

function retryDelay(failures: number): number {
  return RETRY_DELAYS_MS[Math.min(failures, RETRY_DELAYS_MS.length) - 1]!;
}
