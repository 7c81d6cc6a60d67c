import type { StoredDecision } from '../../contract/routing-decision-contract.ts';
import { decide } from '../../routing/decide.ts';
import type { DecisionOutput, Snapshot } from '../../routing/decision.ts';
import { readDecision } from '../../routing/decision-record.ts';
import { DEFAULT_POLICY } from '../../routing/routing-policy.ts';
import type { RoutingDecision, RoutingSnapshot } from '../../store/tables/routing-tables.ts';
import type { Deps } from '../deps.ts';
import { foundSession } from '../not-found.ts';

/** Result of replaying a decision. */
export interface Replayed {
  decided: StoredDecision;
  again: DecisionOutput;
  identical: boolean;
  /** Known reason for a difference, or null. */
  note: string | null;
}

/** Every decision about a session: the offer, then its attempts. Throws GatewayError `not_found`. */
export async function decisionsOf(deps: Pick<Deps, 'store'>, sessionId: string): Promise<StoredDecision[]> {
  const session = foundSession(await deps.store.session(sessionId), sessionId);
  const offer = session.decisionId === null ? undefined : await deps.store.routingDecision(session.decisionId);
  const attempts = await deps.store.routingDecisionsOfSession(sessionId);
  return readDecisions(deps, offer ? [offer, ...attempts] : attempts);
}

/** The decisions of `records`, with the snapshots on which they were made. */
export async function readDecisions(
  { store }: Pick<Deps, 'store'>,
  records: readonly RoutingDecision[],
): Promise<StoredDecision[]> {
  const ids = [...new Set(records.map(({ snapshotId }) => snapshotId))];
  const found = await Promise.all(ids.map((id) => store.routingSnapshot(id)));
  return withSnapshots(
    records,
    found.map((snapshot) => snapshot!),
  );
}

/** The decisions of `records`, whose snapshots are `found`. */
export function withSnapshots(
  records: readonly RoutingDecision[],
  found: readonly RoutingSnapshot[],
): StoredDecision[] {
  const snapshots = new Map(
    found.map(({ id, environment, created: at, body }) => {
      const facts = JSON.parse(body) as Pick<Snapshot, 'rulesVersion' | 'routes'>;
      return [id, { id, at, environment, ...facts }];
    }),
  );
  return records.map(({ id, snapshotId, sessionId, paymentId, body, created }) => {
    return { id, sessionId, paymentId, created, snapshot: snapshots.get(snapshotId)!, ...readDecision(body) };
  });
}

/** Computes a stored decision again from its snapshot and input. */
export function replay(decided: StoredDecision): Replayed {
  const { snapshot, input, output } = decided;
  const again = decide(snapshot, input, DEFAULT_POLICY);
  const identical = JSON.stringify(again) === JSON.stringify(output);
  const isOther = input.algorithm !== DEFAULT_POLICY.algorithm;
  return { decided, again, identical, note: isOther ? `decided by algorithm ${input.algorithm}` : null };
}
