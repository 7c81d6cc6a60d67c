import { DELIVERY_STATUSES } from '../../domain/delivery.ts';
import { firstIdAt } from '../../domain/id.ts';
import { ENVIRONMENTS } from '../../domain/route.ts';
import { EVENT_TYPES } from '../events.ts';
import type { KeysetQuery } from '../keyset.ts';
import type { DeliveryFilter } from '../webhooks.ts';

/** How far the time in a delivery's id may be from its `created`: two looks at one clock, of instances side by side. */
const ID_TIME_SLACK_MS = 5000;

/**
 * The ranges of a page, for filters that do not already name the deliveries; none where nothing can match. The class of
 * an answer is kept of what is not delivered: delivered is what was answered with 200.
 */
export function deliveryKeysets(filter: DeliveryFilter): KeysetQuery[] {
  const { endpointId, environment, type, status, statusClass, createdFrom, createdUntil } = filter;
  const isPlain = [endpointId, environment, type, status, statusClass].every((value) => value === undefined);
  const shared = {
    table: 'deliveries',
    ids: {
      from: createdFrom === undefined ? undefined : firstIdAt('dlv', createdFrom - ID_TIME_SLACK_MS),
      below: createdUntil === undefined ? undefined : firstIdAt('dlv', createdUntil + ID_TIME_SLACK_MS),
    },
    also: [
      ...(createdFrom === undefined ? [] : [['created >= ', createdFrom] as const]),
      ...(createdUntil === undefined ? [] : [['created < ', createdUntil] as const]),
    ],
  };
  if (isPlain) return [{ ...shared, equals: {}, oneOf: {} }];
  // An endpoint implies its environment.
  const place = endpointId === undefined ? { environment } : { endpoint_id: endpointId };
  const statuses = status === undefined ? DELIVERY_STATUSES : [status];
  const ranges = (of: readonly string[], answer?: string): KeysetQuery[] =>
    of.length === 0 ? [] : [{ ...shared, ...fixed({ ...place, answer_class: answer, type }, of) }];
  if (statusClass === undefined) return ranges(statuses);
  return [
    ...ranges(statusClass === '2xx' ? statuses.filter((one) => one === 'delivered') : []),
    ...ranges(
      statuses.filter((one) => one !== 'delivered'),
      statusClass,
    ),
  ];
}

const VALUES: Record<string, readonly string[]> = { environment: ENVIRONMENTS, type: EVENT_TYPES };

/** Columns with one value, and those that are open, each with all it can have. */
function fixed(columns: Record<string, string | undefined>, statuses: readonly string[]) {
  const entries = Object.entries(columns);
  const open = entries.filter(([column, value]) => value === undefined && VALUES[column] !== undefined);
  const given = entries.filter((entry): entry is [string, string] => entry[1] !== undefined);
  const [only] = statuses;
  return {
    equals: { ...Object.fromEntries(given), ...(statuses.length === 1 && { status: only! }) },
    oneOf: {
      ...Object.fromEntries(open.map(([column]) => [column, VALUES[column]!])),
      ...(statuses.length > 1 && { status: statuses }),
    },
  };
}
