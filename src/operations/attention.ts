import type { Instant } from '../domain/records.ts';
import { localTime } from '../domain/reporting-time.ts';
import { shareOfPaid } from './sales-figures.ts';
import { wilsonInterval } from '../domain/statistics.ts';
import type { WebhookEndpoint } from '../domain/webhook-endpoint.ts';
import { isOverrideOver } from '../routing/health-record.ts';
import type { AttentionFacts } from './attention-facts.ts';

/** Something that an operator should solve. */
export interface AttentionItem {
  /** A sentence. */
  text: string;
  /** Null if the time is unknown. */
  since: Instant | null;
  /** Page of the environment, or command, that solves it. */
  solve: { page: string; name: string } | { command: string };
}

const HOUR_MS = 60 * 60_000;
const UNSETTLED_MS = 5 * 24 * HOUR_MS;
const LEAST_ATTEMPTS = 20;
/** 99th percentile of the normal distribution: by chance, one hour of a hundred has fewer successes. */
const UNLIKELY = 2.326348;
const OPEN_API =
  'ALLOW_UNAUTHENTICATED is on: without an API key, every client that can reach this service has all rights.';
/** Records that need a person, worst first. */
const RECORDS = [
  ['discrepancies', 'Open discrepancies and reversals'],
  ['failedRefunds', 'Failed refunds whose payment has no later refund'],
  ['pendingRefunds', 'Refunds that have been pending for more than a day'],
  ['deadDeliveries', 'Dead webhook deliveries, whose attempts all failed'],
  ['overdueDeliveries', 'Endpoints with overdue webhook deliveries'],
  ['unsettled', 'Payments of more than 5 days ago that are in no payout'],
] as const;

/** Everything that needs attention, worst first. */
export function needsAttention(facts: AttentionFacts): AttentionItem[] {
  const { environment, ledgerCents, unsolved, now, zone } = facts;
  const unsettledUntil = localTime(now - UNSETTLED_MS, zone).slice(0, 'YYYY-MM-DD'.length);
  const here = (command: string) => ({ command: `tillway ${command} --environment ${environment}` });
  const solutions: { [Name in keyof typeof unsolved]?: AttentionItem['solve'] } = {
    overdueDeliveries: here('deliveries list --status pending'),
    unsettled: { page: `payments?to=${unsettledUntil}&only=unsettled`, name: 'See these payments' },
  };
  return [
    only(ledgerCents !== 0, `The ledger does not sum to 0, but to ${ledgerCents} cents.`, null, {
      command: 'tillway doctor',
    }),
    unusableKinds(facts, here('routes list')),
    only(facts.allowsUnauthenticated, OPEN_API, null, { command: 'unset ALLOW_UNAUTHENTICATED' }),
    successDrop(facts),
    facts.providers.flatMap(({ id, ready, reason, notReadySince }) =>
      only(!ready, `Provider ${id} is not ready: ${reason}.`, notReadySince, {
        command: `tillway providers check ${id}`,
      }),
    ),
    facts.routes.flatMap((route) => routeItem(route, facts.now)),
    facts.endpoints.flatMap(endpointItem),
    RECORDS.flatMap(([name, text]) => {
      const { count, since, session } = unsolved[name];
      const payment = { page: `payments/${session}`, name: 'Open the payment of the oldest one' };
      // A delivery about a route has no payment.
      const oldest = session?.startsWith('chk_') === false ? here('deliveries list --status dead') : payment;
      return only(count > 0, `${text}: ${count < 100 ? count : '100 or more'}.`, since, solutions[name] ?? oldest);
    }),
  ].flat();
}

function only(is: boolean, text: string, since: Instant | null, solve: AttentionItem['solve']): AttentionItem[] {
  return is ? [{ text, since, solve }] : [];
}

function unusableKinds({ routes }: AttentionFacts, solve: AttentionItem['solve']): AttentionItem[] {
  return [...Map.groupBy(routes, ({ route }) => route.kind)].flatMap(([kind, ofKind]) => {
    const isUnusable = ofKind.every(({ facts }) => facts.health === 'standby');
    const since = Math.max(...ofKind.map(({ health }) => health.since));
    return only(isUnusable, `No route for payments by ${kind} can be used.`, since, solve);
  });
}

/** A route in another state than the catalogue gives it. A provider that is not ready is an item of its own. */
function routeItem({ route, health, facts }: AttentionFacts['routes'][number], now: Instant): AttentionItem[] {
  const isOverridden = health.manual !== null && !isOverrideOver(health, now);
  const isImpaired = facts.off === null && facts.health !== 'live' && health.cause !== 'configured';
  const command = `tillway routes ${isOverridden ? `override ${route.id} automatic` : `history ${route.id}`}`;
  const isDue = health.retryAt !== null && health.retryAt <= now;
  // The words were stored when the time was ahead. No probe starts before a payment fits the route.
  const words = isDue
    ? health.words.replace(/next try at .*$/, 'next try: with the next suitable payment')
    : health.words;
  const text = `Route ${route.label} is ${isOverridden ? 'overridden' : 'impaired'}: ${words}.`;
  return only(isOverridden || isImpaired, text, health.since, { command });
}

/** A number of successes that is unlikely if attempts succeed as often as in the same hour of the four weeks before. */
function successDrop({ lastHour, usualHour, now }: AttentionFacts): AttentionItem[] {
  const attempts = lastHour.paid + lastHour.failed;
  const before = usualHour.paid + usualHour.failed;
  if (attempts < LEAST_ATTEMPTS || before < LEAST_ATTEMPTS) return [];
  // One success and one failure more than seen (Laplace), because no number of successes proves that attempts cannot fail.
  const usual = (usualHour.paid + 1) / (before + 2);
  const percent = (share: number) => `${Math.round(share * 100)} %`;
  const text = `Success in the last hour is ${percent(shareOfPaid(lastHour)!)} of ${attempts} attempts; ${percent(usual)} is usual at this time.`;
  const isUnlikely = wilsonInterval(lastHour.paid, attempts, UNLIKELY).high < usual;
  return only(isUnlikely, text, now - HOUR_MS, { page: 'payments?status=failed', name: 'See the failed payments' });
}

function endpointItem({ id, url, status, disabledReason, disabledAt, failingSince }: WebhookEndpoint): AttentionItem[] {
  const [isDisabled, isFailing] = [status === 'disabled', status === 'active' && failingSince !== null];
  const text = `Webhook endpoint ${url} ${isDisabled ? `is disabled: ${disabledReason}` : 'does not acknowledge events'}.`;
  const command = `tillway endpoints ${isDisabled ? 'enable' : 'test'} ${id}`;
  return only(isDisabled || isFailing, text, isDisabled ? disabledAt : failingSince, { command });
}
