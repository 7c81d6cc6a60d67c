import { subjectKindOf } from '../../domain/audit.ts';
import { type Delivery, sessionOfDelivery } from '../../domain/delivery.ts';
import type { Environment } from '../../domain/route.ts';
import type { Change } from '../../store/store.ts';
import type { AuditEntry } from '../../store/tables/audit-table.ts';
import type { OperatorSession } from '../../store/tables/operators-table.ts';

type AuditFacts = Pick<AuditEntry, 'environment' | 'subjectKind' | 'subjectId' | 'sessionId' | 'details'>;
type Readers = { [Type in Change['type']]?: (change: Extract<Change, { type: Type }>) => AuditFacts };
type Subject = { environment: Environment; sessionId?: string | null };
type Fact = string | number | null;

const LIVE = { environment: 'production' } as const;

/** Facts about a subject: of `record`, only the properties `names`. None is free text, which could contain personal data or a secret. */
function about<Name extends string>(
  subjectId: string,
  record: Subject & { [Each in Name]: Fact },
  names: readonly Name[],
  subjectKind = subjectKindOf(subjectId),
): AuditFacts {
  const known = names.flatMap((name) => (record[name] === null ? [] : [[name, record[name]] as const]));
  const { environment, sessionId = subjectKind === 'session' ? subjectId : null } = record;
  return { environment, subjectKind, subjectId, sessionId, details: Object.fromEntries(known) };
}

const ofLogin = ({ login }: { login: OperatorSession }) => about(login.ownerId, LIVE, []);
const ofDelivery = ({ delivery }: { delivery: Delivery }) =>
  about(delivery.id, { ...delivery, sessionId: sessionOfDelivery(delivery) }, ['endpointId']);

/**
 * Readers of the changes that can be the purpose of an action. The first type in this order that a change set contains is its purpose;
 * changes without a reader accompany others, or are work of the service itself.
 */
const READERS: Readers = {
  // An operator has roles in both environments, and admins of production manage them.
  operator_saved: ({ operator: { id, version, roles } }) => {
    const record = { ...LIVE, version, sandboxRole: roles.sandbox, productionRole: roles.production };
    return about(id, record, ['version', 'sandboxRole', 'productionRole']);
  },
  operator_sessions_ended: ({ operatorId }) => about(operatorId, LIVE, []),
  operator_session_created: ofLogin,
  operator_session_ended: ofLogin,
  api_key_created: ({ key }) => about(key.id, key, ['scope']),
  api_key_revoked: ({ keyId, environment }) => about(keyId, { environment, status: 'revoked' }, ['status']),
  customer_erased: ({ customer }) => about(customer.id, customer, ['status']),
  customer_status_changed: ({ customer }) => about(customer.id, customer, ['status']),
  settlement_recorded: ({ settlement }) => about(settlement.paymentId, settlement, ['amount']),
  refund_changed: ({ refund }) => about(refund.id, refund, ['amount', 'paymentId', 'status']),
  discrepancy_changed: ({ discrepancy }) =>
    about(discrepancy.id, discrepancy, ['status', 'resolution', 'paymentId', 'refundId', 'version']),
  refund_created: ({ refund }) => about(refund.id, refund, ['amount', 'paymentId', 'reason']),
  provider_message_received: ({ message }) => about(message.sessionId, message, ['amount', 'paymentId']),
  recovery_saved: ({ recovery }) => about(recovery.id, recovery, ['endpointId']),
  delivery_replayed: ofDelivery,
  delivery_added: ofDelivery,
  endpoint_created: ({ endpoint }) => about(endpoint.id, endpoint, ['status', 'version']),
  endpoint_changed: ({ endpoint }) => about(endpoint.id, endpoint, ['status', 'version']),
  // The rules apply to both environments, and only a key of production may save them.
  rules_saved: ({ rules: { version } }) => about(String(version), { ...LIVE, version }, ['version'], 'routing_rules'),
  experiment_saved: ({ experiment }) => about(experiment.id, experiment, ['share', 'status', 'version']),
  route_health_changed: ({ health }) => about(health.routeId, health, ['version'], 'route'),
  test_clock_changed: ({ clock: { version } }) =>
    about('test_clock', { environment: 'sandbox', version }, ['version'], 'test_clock'),
  session_changed: ({ session }) => about(session.id, session, ['status', 'version']),
};

/** Facts about the purpose of a change set; undefined if no action has it as its purpose. */
export function auditFacts(changes: readonly Change[]): AuditFacts | undefined {
  for (const [type, read] of Object.entries(READERS) as [Change['type'], (change: Change) => AuditFacts][]) {
    const change = changes.find((one) => one.type === type);
    if (change) return read(change);
  }
  return undefined;
}
