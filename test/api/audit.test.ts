// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AuditEntry, CheckoutSession, Delivery, Page, Payment, Refund } from '../../sdk/src/index.ts';
import type { AppDeps } from '../../src/http/app.ts';
import { servedEndpoints } from '../../src/http/openapi-endpoint.ts';
import { rpc } from '../mcp/rpc.ts';
import { contentsOf } from '../support/database.ts';
import { type Gateway, gatewayOf, pick } from '../support/gateway.ts';
import { ADMIN, BOOTSTRAP, bearer, makeKey } from '../support/keys.ts';
import { providerSays } from '../support/money-arrives.ts';
import { call, sessionBody, startTestService } from '../support/service.ts';
import { suiteService } from '../support/suite.ts';

const VARIABLES = {
  ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
  WEBHOOK_ALLOW_PRIVATE: 'true',
  ...BOOTSTRAP,
};
const ROUTE = 'sandbox_card_acquirer';
const EXPERIMENT = { name: 'a@example.com', variant: { prefer: 'sandbox_card_backup' } };
const service = suiteService({ variables: VARIABLES, sound: true });
const admin = (): Gateway => gatewayOf(service, bearer(ADMIN.sandbox));
const entries = (on = service, query = '') =>
  gatewayOf(on, bearer(ADMIN.sandbox)).list<AuditEntry>(`audit?limit=100${query}`);

let buyers = 0;
const created = (customer = `buyer${buyers++}@example.com`) =>
  admin().post<CheckoutSession>('sessions', sessionBody({ customer }));
async function paid(): Promise<Payment> {
  const { id } = await created();
  await providerSays(service, id, 'paid');
  return (await admin().list<Payment>(`payments?paymentId=${id}`))[0]!;
}
const endpoint = () => admin().post<{ id: string }>('webhook-endpoints', { url: 'http://127.0.0.1:9/hook' });

/** The kind of the subject of the one entry that a request leaves; `none` if it leaves no entry. */
type Left = 'none' | (string & {});
/** A request to each endpoint that changes or exports something, or that an admin key needs. */
const REQUESTS: Record<
  string,
  (api: Gateway) => Promise<() => Promise<[left: Left, kind?: 'read' | undefined, subject?: string]>>
> = {
  createApiKey: async (api) => async () => {
    const { id } = await api.post<{ id: string }>('keys', { name: 'a@example.com', scope: 'read' });
    return ['key', undefined, id];
  },
  listApiKeys: async (api) => async () => (await api.list('keys'), ['none']),
  revokeApiKey: async (api) => {
    const { id } = await api.post<{ id: string }>('keys', { name: 'Lost', scope: 'read' });
    return async () => (await api.post(`keys/${id}/revoke`), ['key', undefined, id]);
  },
  blockCustomer: async (api) => {
    const { customerId: id } = await created();
    return async () => (
      await api.post(`customers/${id}/block`, { reason: 'Rude: a@example.com' }),
      ['customer', undefined, id]
    );
  },
  unblockCustomer: async (api) => {
    const { customerId: id } = await created();
    await api.post(`customers/${id}/block`);
    return async () => (await api.post(`customers/${id}/unblock`), ['customer', undefined, id]);
  },
  exportCustomer: async (api) => {
    const { customerId: id } = await created();
    return async () => (await api.get(`customers/${id}/export`), ['customer', 'read', id]);
  },
  eraseCustomer: async (api) => {
    const { customerId: id } = await created('leaving@example.com');
    return async () => (await api.post(`customers/${id}/erase`, { confirm: id }), ['customer', undefined, id]);
  },
  exportLedger: async (api) => async () => {
    await fetch(api.url('ledger/export'), { headers: bearer(ADMIN.sandbox) }).then((response) => response.text());
    return ['none', 'read'];
  },
  createRefund: async (api) => {
    const { id } = await paid();
    return async () => ['refund', undefined, (await api.post<Refund>(`payments/${id}/refunds`, { amount: 1 })).id];
  },
  // The simulated provider pays refunds itself: a guard refuses.
  markRefundPaid: async (api) => {
    const { id } = await refunded(api);
    return async () => (
      await api.refused('409 invalid_state', `POST refunds/${id}/paid`, { txHash: `0x${'1'.repeat(64)}` }),
      ['none']
    );
  },
  markRefundFailed: async (api) => {
    const { id } = await refunded(api);
    return async () => (await api.refused('409 invalid_state', `POST refunds/${id}/failed`, { reason: 'x' }), ['none']);
  },
  resolveDiscrepancy: async (api) => {
    const { id: sessionId } = await created();
    await providerSays(service, sessionId, 'paid', { amount: 4000 });
    const [id] = await api.ids(`discrepancies?sessionId=${sessionId}`);
    return async () => (
      await api.post(`discrepancies/${id}/resolve`, { action: 'accept', note: 'a@example.com' }),
      ['discrepancy', undefined, id!]
    );
  },
  expireSession: async (api) => {
    const { id } = await created();
    return async () => (await api.post(`sessions/${id}/expire`), ['session', undefined, id]);
  },
  settlePayment: async (api) => {
    const { id } = await paid();
    return async () => (
      await api.post(`payments/${id}/settle`, { reference: 'po_a@example.com' }),
      ['payment', undefined, id]
    );
  },
  importSettlements: async (api) => {
    const [first, second] = [await paid(), await paid()];
    return async () => {
      const rows = [first, second].map(({ id, fees }) => `${id},${fees.merchant_net},USD`);
      const headers = { ...bearer(ADMIN.sandbox), 'content-type': 'text/csv' };
      const csv = `payment_id,amount,currency\n${rows.join('\n')}\n`;
      await fetch(api.url('settlements/import?dryRun=true'), { method: 'POST', headers, body: csv });
      const answer = await call<{ settled: number }>('POST', api.url('settlements/import'), csv, headers);
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      return ['payment'];
    };
  },
  resendEvent: async (api) => {
    await endpoint();
    const { sessionId } = await paid();
    await service.pass(1000);
    return async () => (await api.post(`events/evt_${sessionId}_paid/resend`), ['delivery']);
  },
  replayDelivery: async (api) => {
    await endpoint();
    const { sessionId } = await paid();
    await service.pass(1000);
    const [{ id }] = (await api.list<Delivery>(`deliveries?sessionId=${sessionId}`)) as [Delivery];
    return async () => (await api.post(`deliveries/${id}/replay`), ['delivery', undefined]);
  },
  recoverDeliveries: async (api) => {
    const { id } = await endpoint();
    return async () => (
      await api.post(`webhook-endpoints/${id}/recover`, { from: '2026-01-01T00:00:00Z' }),
      ['recovery']
    );
  },
  createWebhookEndpoint: async () => async () => ['endpoint', undefined, (await endpoint()).id],
  updateWebhookEndpoint: async (api) => {
    const { id } = await endpoint();
    return async () => (
      await api.patch(`webhook-endpoints/${id}`, { description: 'a@example.com' }),
      ['endpoint', undefined, id]
    );
  },
  deleteWebhookEndpoint: async (api) => {
    const { id } = await endpoint();
    return async () => (await api.delete(`webhook-endpoints/${id}`), ['endpoint', undefined, id]);
  },
  rotateWebhookSecret: async (api) => {
    const { id } = await endpoint();
    return async () => (await api.post(`webhook-endpoints/${id}/rotate-secret`), ['endpoint', undefined, id]);
  },
  // A test delivery stores nothing.
  testWebhookEndpoint: async (api) => {
    const { id } = await endpoint();
    return async () => (await api.post(`webhook-endpoints/${id}/test`), ['none']);
  },
  overrideRouteHealth: async (api) => async () => {
    await api.put(`routing/routes/${ROUTE}/health`, { health: 'standby', reason: 'a@example.com' });
    return ['route', undefined, ROUTE];
  },
  startExperiment: async (api) => async () => {
    const { id } = await api.post<{ id: string }>('routing/experiments', EXPERIMENT);
    return ['experiment', undefined, id];
  },
  endExperiment: async (api) => {
    const { id } = await api.post<{ id: string }>('routing/experiments', EXPERIMENT);
    return async () => (await api.post(`routing/experiments/${id}/end`), ['experiment', undefined, id]);
  },
  // The rules apply to both environments: a key of the sandbox may not save them.
  saveRoutingRules: async (api) => async () => (
    await api.refused('403 forbidden', 'PUT routing/rules', { version: 1, rules: [] }),
    ['refused']
  ),
  listProviders: async (api) => async () => (await api.list('providers'), ['none']),
  listAudit: async (api) => async () => (await api.list('audit'), ['none']),
  // The service has no test clock.
  advanceTestClock: async (api) => async () => (
    await api.refused('403 forbidden', 'POST test-clock/advance', { seconds: 1 }),
    ['none']
  ),
};

async function refunded(api: Gateway): Promise<Refund> {
  return api.post<Refund>(`payments/${(await paid()).id}/refunds`, { amount: 1 });
}

describe('the audit of the API', () => {
  it('names every endpoint that changes or exports something', () => {
    const audited = servedEndpoints(service.service.deps as AppDeps).filter(
      ({ access, isExport, method, tag, operationId }) =>
        tag !== 'agent' &&
        (isExport ||
          access === 'write' ||
          access === 'admin' ||
          (method !== 'GET' && access !== 'read' && operationId !== 'createSession')),
    );
    assert.deepEqual(audited.map(({ operationId }) => operationId).toSorted(), Object.keys(REQUESTS).toSorted());
  });

  for (const [action, prepare] of Object.entries(REQUESTS)) {
    it(`${action} leaves one entry if it changes or exports something, and otherwise none`, async () => {
      const request = await prepare(admin());
      const before = new Set((await entries()).map(({ id }) => id));
      const [left, kind = 'change', subject] = await request();
      const added = (await entries()).filter(({ id }) => !before.has(id));
      if (left === 'none' && kind === 'change') return assert.deepEqual(added, []);
      const [entry] = added;
      assert.equal(added.length, 1, JSON.stringify(added));
      assert.partialDeepStrictEqual(entry, {
        action,
        kind,
        environment: 'sandbox',
        actorKind: 'key',
        actorName: 'BOOTSTRAP_API_KEYS',
        outcome: left === 'refused' ? 'refused' : 'done',
        subjectKind: left === 'none' || left === 'refused' ? null : left,
        ...(subject !== undefined && { subjectId: subject }),
      });
      assert.ok(entry!.requestId);
      // Every free text of the requests above is an address.
      assert.doesNotMatch(JSON.stringify(entry), /@/);
    });
  }

  it('saved rules, and the test clock, leave an entry', async () => {
    const live = bearer(ADMIN.production);
    await gatewayOf(service, live).put('routing/rules', { version: 1, rules: [] });
    const [saved] = await gatewayOf(service, live).list<AuditEntry>('audit?action=saveRoutingRules');
    assert.deepEqual([saved?.subjectKind, saved?.subjectId, saved?.details], ['routing_rules', '1', { version: 1 }]);
    await using clocked = await startTestService({ variables: { ...BOOTSTRAP, TEST_CLOCK: 'true' } });
    await gatewayOf(clocked, bearer(ADMIN.sandbox)).post('test-clock/advance', { seconds: 60 });
    assert.deepEqual(pick(await entries(clocked), 'action', 'subjectKind'), [['advanceTestClock', 'test_clock']]);
  });

  it('the MCP tools that change something leave the entry of their endpoint', async () => {
    const { id } = await created();
    const refund = { paymentId: (await paid()).id, amount: 2, idempotencyKey: 'mcp-refund' };
    for (const [name, params] of [
      ['session_expire', { sessionId: id }],
      ['refund_create', refund],
      ['refund_create', refund],
      ['checkout_create', sessionBody()],
    ] as const) {
      await rpc(service.url, 'tools/call', { name, arguments: params }, bearer(ADMIN.sandbox));
    }
    assert.deepEqual(pick((await entries()).slice(0, 2), 'action', 'outcome'), [
      ['createRefund', 'done'],
      ['expireSession', 'done'],
    ]);
  });

  it('a repeated request, and one that a guard refuses, leave no entry', async () => {
    const payment = await paid();
    const refund = { amount: 1, idempotencyKey: 'sent-twice' };
    const refunds = `payments/${payment.id}/refunds`;
    const [first] = await Promise.all(Array.from({ length: 5 }, () => admin().post<Refund>(refunds, refund)));
    await admin().refused('400 invalid_input', `POST ${refunds}`, { amount: 1000 });
    await admin().refused('409 invalid_state', `POST sessions/${payment.sessionId}/expire`);
    const left = await entries(service, `&sessionId=${payment.sessionId}`);
    assert.deepEqual(pick(left, 'action', 'subjectId', 'details'), [
      ['createRefund', first!.id, { amount: 1, paymentId: payment.id }],
    ]);
  });

  it('a refusal leaves an entry of a known key, and none of a stranger', async () => {
    const read = await makeKey(service.url, 'sandbox', { scope: 'read', name: 'Reader' });
    const { id } = await paid();
    const before = (await entries()).length;
    await gatewayOf(service, bearer(read)).refused('403 forbidden', `POST payments/${id}/refunds`);
    await gatewayOf(service, bearer(read)).refused('403 forbidden', 'POST payments/a@example.com/refunds');
    for (const stranger of [{}, bearer(`sk_sandbox_${'x'.repeat(43)}`)]) {
      await gatewayOf(service, stranger).refused('401 unauthorized', `POST payments/${id}/refunds`);
    }
    const after = await entries();
    assert.deepEqual(pick(after.slice(0, after.length - before), 'action', 'actorName', 'outcome', 'subjectId'), [
      ['createRefund', 'Reader', 'refused', null],
      ['createRefund', 'Reader', 'refused', id],
    ]);
  });

  it('lists entries by actor, action, record, session and kind, page by page', async () => {
    const all = await entries();
    const [{ actorId, subjectId, sessionId }] = all.filter((one) => one.sessionId !== null) as [AuditEntry];
    const expected: [query: string, matches: (entry: AuditEntry) => boolean][] = [
      [`actorId=${actorId}`, (one) => one.actorId === actorId],
      ['action=createRefund', (one) => one.action === 'createRefund'],
      [`actorId=${actorId}&action=createRefund`, (one) => one.actorId === actorId && one.action === 'createRefund'],
      [`subjectId=${subjectId}`, (one) => one.subjectId === subjectId],
      [`sessionId=${sessionId}`, (one) => one.sessionId === sessionId],
      ['kind=read', (one) => one.kind === 'read'],
      ['environment=sandbox', () => true],
    ];
    for (const [query, matches] of expected) {
      const ids = all.filter(matches).map(({ id }) => id);
      assert.deepEqual(await admin().ids(`audit?limit=100&${query}`), ids, query);
      const pages: string[] = [];
      for (let after = '', hasMore = true; hasMore; after = `&startingAfter=${pages.at(-1)}`) {
        const page: Page<AuditEntry> = await admin().get(`audit?limit=2&${query}${after}`);
        pages.push(...page.data.map(({ id }) => id));
        ({ hasMore } = page);
      }
      assert.deepEqual(pages, ids, query);
    }
    await admin().refused('403 forbidden', 'GET audit?environment=production');
  });

  it('an erased customer leaves no address, and requests without keys come from this machine', async () => {
    await using open = await startTestService();
    const api = gatewayOf(open);
    const { id, customerId } = await api.post<CheckoutSession>(
      'sessions',
      sessionBody({ customer: 'gone@example.com' }),
    );
    await api.post(`customers/${customerId}/block`, { reason: 'gone@example.com' });
    await api.post(`customers/${customerId}/unblock`);
    await api.get(`customers/${customerId}/export`);
    await api.post(`sessions/${id}/expire`);
    await api.post(`customers/${customerId}/erase`, { confirm: customerId });
    assert.deepEqual(pick(await api.list<AuditEntry>('audit'), 'action', 'actorKind', 'environment'), [
      ['eraseCustomer', 'machine', 'sandbox'],
      ['expireSession', 'machine', 'sandbox'],
      ['exportCustomer', 'machine', 'both'],
      ['unblockCustomer', 'machine', 'sandbox'],
      ['blockCustomer', 'machine', 'sandbox'],
    ]);
    assert.doesNotMatch(await contentsOf(open.databaseUrl), /gone@example\.com/);
  });
});
