import { type Tillway, webhooks } from '../../sdk/src/index.ts';

export const BODY = { product: 'Field guide', amount: 49.99, customer: 'buyer@example.com' };
const SAMPLE = { eventId: 'e', sessionId: 'chk_x', status: 'paid', amount: 1 } as const;
const RULES = { version: 1, rules: [] } as const;

const EVENT = webhooks.sampleEvent('payment.paid');
const PAGE = { object: 'list', data: [], hasMore: false };
const named = (object: string) => ({ object, id: 'x' });
const acted = (action: string) => ({ ok: true, action, result: {} });
const SESSION = named('checkout_session');
const ENDPOINT = named('webhook_endpoint');

/** One method of the client. */
interface MethodCall {
  /** The least that the service could answer. */
  answer: object;
  call(tillway: Tillway): Promise<unknown>;
}

/** Every method of the client that is an endpoint, as somebody would call it. */
export const CALLS: Record<string, MethodCall> = {
  'sessions.create': { answer: SESSION, call: (tillway) => tillway.sessions.create(BODY) },
  'sessions.list': { answer: PAGE, call: (tillway) => tillway.sessions.list() },
  'sessions.get': { answer: SESSION, call: (tillway) => tillway.sessions.get('chk_x') },
  'sessions.expire': { answer: SESSION, call: (tillway) => tillway.sessions.expire('chk_x') },
  'customers.list': { answer: PAGE, call: (tillway) => tillway.customers.list() },
  'customers.get': { answer: named('customer'), call: (tillway) => tillway.customers.get('cus_x') },
  'customers.block': {
    answer: named('customer'),
    call: (tillway) => tillway.customers.block('cus_x', { reason: 'chargebacks' }),
  },
  'customers.unblock': { answer: named('customer'), call: (tillway) => tillway.customers.unblock('cus_x') },
  'customers.export': { answer: named('customer_export'), call: (tillway) => tillway.customers.export('cus_x') },
  'customers.erase': {
    answer: named('customer'),
    call: (tillway) => tillway.customers.erase('cus_x', { confirm: 'cus_x' }),
  },
  'payments.list': { answer: PAGE, call: (tillway) => tillway.payments.list() },
  'payments.get': { answer: named('payment'), call: (tillway) => tillway.payments.get('pay_x') },
  'refunds.create': { answer: named('refund'), call: (tillway) => tillway.refunds.create('pay_x', { amount: 1 }) },
  'refunds.list': { answer: PAGE, call: (tillway) => tillway.refunds.list() },
  'refunds.listOfPayment': { answer: PAGE, call: (tillway) => tillway.refunds.listOfPayment('pay_x') },
  'discrepancies.list': { answer: PAGE, call: (tillway) => tillway.discrepancies.list() },
  'discrepancies.get': { answer: named('discrepancy'), call: (tillway) => tillway.discrepancies.get('dis_x') },
  'discrepancies.resolve': {
    answer: named('discrepancy'),
    call: (tillway) => tillway.discrepancies.resolve('dis_x', { action: 'refund' }),
  },
  'refunds.get': { answer: named('refund'), call: (tillway) => tillway.refunds.get('ref_x') },
  'invoices.list': { answer: PAGE, call: (tillway) => tillway.invoices.list() },
  'invoices.get': { answer: named('invoice'), call: (tillway) => tillway.invoices.get('inv_x') },
  'events.list': { answer: PAGE, call: (tillway) => tillway.events.list() },
  'events.get': { answer: EVENT, call: (tillway) => tillway.events.get('evt_x') },
  'events.resend': { answer: PAGE, call: (tillway) => tillway.events.resend('evt_x') },
  'deliveries.list': { answer: PAGE, call: (tillway) => tillway.deliveries.list() },
  'deliveries.get': {
    answer: { ...named('delivery'), log: [], payload: EVENT },
    call: (tillway) => tillway.deliveries.get('dlv_x'),
  },
  'deliveries.replay': { answer: named('delivery'), call: (tillway) => tillway.deliveries.replay('dlv_x') },
  'settlements.settle': { answer: named('settlement'), call: (tillway) => tillway.settlements.settle('pay_x') },
  'settlements.import': {
    answer: named('settlement_import'),
    call: (tillway) => tillway.settlements.import('payment_id,amount,currency\npay_x,1,USD\n'),
  },
  'ledger.balances': { answer: named('ledger_balances'), call: (tillway) => tillway.ledger.balances() },
  'ledger.entries': { answer: PAGE, call: (tillway) => tillway.ledger.entries() },
  'webhookEndpoints.create': {
    answer: ENDPOINT,
    call: (tillway) => tillway.webhookEndpoints.create({ url: 'https://shop.example/webhooks' }),
  },
  'webhookEndpoints.list': { answer: PAGE, call: (tillway) => tillway.webhookEndpoints.list() },
  'webhookEndpoints.get': { answer: ENDPOINT, call: (tillway) => tillway.webhookEndpoints.get('whe_x') },
  'webhookEndpoints.update': {
    answer: ENDPOINT,
    call: (tillway) => tillway.webhookEndpoints.update('whe_x', { status: 'active' }),
  },
  'webhookEndpoints.delete': { answer: ENDPOINT, call: (tillway) => tillway.webhookEndpoints.delete('whe_x') },
  'webhookEndpoints.rotateSecret': {
    answer: ENDPOINT,
    call: (tillway) => tillway.webhookEndpoints.rotateSecret('whe_x'),
  },
  'webhookEndpoints.recover': {
    answer: named('recovery'),
    call: (tillway) => tillway.webhookEndpoints.recover('whe_x', { from: '2026-01-15T06:00:00Z' }),
  },
  'webhookEndpoints.recovery': {
    answer: named('recovery'),
    call: (tillway) => tillway.webhookEndpoints.recovery('rcv_x'),
  },
  'webhookEndpoints.test': {
    answer: named('webhook_test'),
    call: (tillway) => tillway.webhookEndpoints.test('whe_x'),
  },
  'checkout.preview': { answer: acted('checkout.preview'), call: (tillway) => tillway.checkout.preview(BODY) },
  'checkout.create': { answer: acted('checkout.create'), call: (tillway) => tillway.checkout.create(BODY) },
  'fees.estimate': { answer: acted('fees.estimate'), call: (tillway) => tillway.fees.estimate({ amount: 1 }) },
  'routes.list': {
    answer: { ok: true, routes: [] },
    call: (tillway) => tillway.routes.list({ environment: 'production' }),
  },
  'routing.decisions': { answer: named('routing_decisions'), call: (tillway) => tillway.routing.decisions('chk_x') },
  'routing.replay': { answer: named('routing_replay'), call: (tillway) => tillway.routing.replay('chk_x') },
  'routing.dryRun': { answer: named('routing_dry_run'), call: (tillway) => tillway.routing.dryRun({ amount: 1 }) },
  'routing.backtest': { answer: named('routing_backtest'), call: (tillway) => tillway.routing.backtest() },
  'routing.rules': { answer: named('routing_rules'), call: (tillway) => tillway.routing.rules({ version: 3 }) },
  'routing.saveRules': {
    answer: named('routing_rules'),
    call: (tillway) => tillway.routing.saveRules({ ...RULES, rules: [] }),
  },
  'routing.routes': { answer: PAGE, call: (tillway) => tillway.routing.routes() },
  'routing.overrideHealth': {
    answer: named('routing_route'),
    call: (tillway) => tillway.routing.overrideHealth('rt_x', { health: 'standby' }),
  },
  'routing.transitions': { answer: PAGE, call: (tillway) => tillway.routing.transitions() },
  'webhooks.example': { answer: acted('webhook.example'), call: (tillway) => tillway.webhooks.example() },
  'webhooks.verifySample': {
    answer: acted('webhook.verify_sample'),
    call: (tillway) => tillway.webhooks.verifySample({ payload: SAMPLE }),
  },
  'testClock.get': { answer: named('test_clock'), call: (tillway) => tillway.testClock.get() },
  'testClock.advance': { answer: named('test_clock'), call: (tillway) => tillway.testClock.advance({ seconds: 1 }) },
  'apiKeys.create': {
    answer: named('api_key'),
    call: (tillway) => tillway.apiKeys.create({ name: 'Shop', scope: 'write' }),
  },
  'apiKeys.list': { answer: PAGE, call: (tillway) => tillway.apiKeys.list() },
  'apiKeys.revoke': { answer: named('api_key'), call: (tillway) => tillway.apiKeys.revoke('key_x') },
  schema: {
    answer: { ok: true, operation: 'fees.estimate', inputSchema: {}, outputSchema: {} },
    call: (tillway) => tillway.schema('fees.estimate'),
  },
  capabilities: {
    answer: { product: 'Tillway', entrypoints: [], actions: [] },
    call: (tillway) => tillway.capabilities(),
  },
};
