import { z } from 'zod';
import { ACTOR_KINDS, AUDIT_KINDS, AUDIT_OUTCOMES } from '../domain/audit.ts';
import { amountFromCents } from '../domain/money.ts';
import { ENVIRONMENTS } from '../domain/route.ts';
import { endpoints } from './endpoint.ts';
import { anyText, environment, idOf, list, listQuery } from './list-query.ts';
import * as field from './resource-fields.ts';
import { conversions, rendererOf, resource } from './resource.ts';
import { SAMPLE_IDS } from './sample-ids.ts';

const withDollars = ({ amount, ...details }: Record<string, string | number>) =>
  amount === undefined ? details : { ...details, amount: amountFromCents(Number(amount)) };

const auditEntry = resource('AuditEntry', 'audit_entry', {
  id: field.id('aud', 'The entry.'),
  environment: field.choice([...ENVIRONMENTS, 'both'], 'Environment of the action.'),
  created: field.time('Time of the action.'),
  actorKind: field.choice(ACTOR_KINDS, 'machine: a request without a key; command: a local command.', 'key'),
  actorId: field.label('The key or operator; machine or command for the other actors.', SAMPLE_IDS.key),
  actorName: field.label('Name of the actor at that time.', 'Shop backend'),
  action: field.label('Operation id of the API.', 'createRefund'),
  kind: field.choice(AUDIT_KINDS, 'change, or read for an export.', 'change'),
  subjectKind: field.label('Type of the record that the action is about.', 'refund').nullable(),
  subjectId: field.label('Id of the record that the action is about.', SAMPLE_IDS.ref).nullable(),
  sessionId: field.id('chk', 'The checkout session of the record, or null.').nullable(),
  outcome: field.choice(AUDIT_OUTCOMES, 'refused: the actor lacked the permission, and nothing was changed.', 'done'),
  details: z
    .record(z.string(), z.union([z.string(), z.number()]))
    .register(conversions, { toWire: (stored) => withDollars(stored as Record<string, string | number>) })
    .describe('Ids, statuses, versions, and the amount in US dollars; never personal data.')
    .meta({ examples: [{ amount: 49.99, paymentId: SAMPLE_IDS.pay }] }),
  requestId: field.label('The header x-request-id of the response, or null.', 'req-1').nullable(),
});

export const renderAuditEntry = rendererOf(auditEntry);

/** Filters and page of a list of entries. */
export const auditQuery = listQuery('aud', {
  actorId: anyText('Only actions of this actor.', SAMPLE_IDS.key),
  action: anyText('Only actions with this operation id. An unknown one matches nothing.', 'createRefund'),
  subjectId: anyText('Only actions about the record with exactly this id.', SAMPLE_IDS.ref),
  sessionId: idOf('Only actions about this session', 'chk'),
  kind: z.optional(field.choice(AUDIT_KINDS, 'Only changes, or only exports.')),
  environment,
});

export const AUDIT_ENDPOINTS = endpoints('audit', {
  listAudit: {
    ...list('/api/gateway/audit', 'List the audit entries', auditQuery, auditEntry, 'Who did what, newest first.'),
    access: 'admin',
  },
});
