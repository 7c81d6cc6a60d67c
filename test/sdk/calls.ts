import { type Tillway, webhooks } from '../../sdk/src/index.ts';

/** Request body that creates a session. */
export const BODY = { product: 'Field guide', amount: 49.99, customer: 'buyer@example.com' };
const SAMPLE = { eventId: 'e', sessionId: 'chk_x', status: 'paid', amount: 1 } as const;
const EVENT = webhooks.sampleEvent('payment.paid');
const PAGE = { object: 'list', data: [], hasMore: false };

/** A call of one method of the client. */
interface MethodCall {
  /** Minimal response of the service that the client accepts. */
  answer: object;
  call(tillway: Tillway): Promise<unknown>;
}

/** Every method that calls one endpoint: its name, the `object` of its response (or the whole response), valid arguments. */
const ROWS: [method: string, answer: string | object, ...args: unknown[]][] = [
  ['sessions.create', 'checkout_session', BODY],
  ['sessions.list', PAGE],
  ['sessions.get', 'checkout_session', 'chk_x'],
  ['sessions.expire', 'checkout_session', 'chk_x'],
  ['customers.list', PAGE],
  ['customers.get', 'customer', 'cus_x'],
  ['customers.block', 'customer', 'cus_x', { reason: 'chargebacks' }],
  ['customers.unblock', 'customer', 'cus_x'],
  ['customers.export', 'customer_export', 'cus_x'],
  ['customers.erase', 'customer', 'cus_x', { confirm: 'cus_x' }],
  ['payments.list', PAGE],
  ['payments.get', 'payment', 'pay_x'],
  ['refunds.create', 'refund', 'pay_x', { amount: 1 }],
  ['refunds.list', PAGE],
  ['refunds.listOfPayment', PAGE, 'pay_x'],
  ['refunds.get', 'refund', 'ref_x'],
  ['refunds.paid', 'refund', 'ref_x', { txHash: '0x1' }],
  ['refunds.failed', 'refund', 'ref_x', { reason: 'no address' }],
  ['discrepancies.list', PAGE],
  ['discrepancies.get', 'discrepancy', 'dis_x'],
  ['discrepancies.resolve', 'discrepancy', 'dis_x', { action: 'refund' }],
  ['invoices.list', PAGE],
  ['invoices.get', 'invoice', 'inv_x'],
  ['events.list', PAGE],
  ['events.get', EVENT, 'evt_x'],
  ['events.resend', PAGE, 'evt_x'],
  ['deliveries.list', PAGE],
  ['deliveries.get', { object: 'delivery', id: 'x', log: [], payload: EVENT }, 'dlv_x'],
  ['deliveries.replay', 'delivery', 'dlv_x'],
  ['settlements.settle', 'settlement', 'pay_x'],
  ['settlements.import', 'settlement_import', 'payment_id,amount,currency\npay_x,1,USD\n'],
  ['ledger.balances', 'ledger_balances'],
  ['ledger.entries', PAGE],
  ['webhookEndpoints.create', 'webhook_endpoint', { url: 'https://shop.example/webhooks' }],
  ['webhookEndpoints.list', PAGE],
  ['webhookEndpoints.get', 'webhook_endpoint', 'whe_x'],
  ['webhookEndpoints.update', 'webhook_endpoint', 'whe_x', { status: 'active' }],
  ['webhookEndpoints.delete', 'webhook_endpoint', 'whe_x'],
  ['webhookEndpoints.rotateSecret', 'webhook_endpoint', 'whe_x'],
  ['webhookEndpoints.recover', 'recovery', 'whe_x', { from: '2026-01-15T06:00:00Z' }],
  ['webhookEndpoints.recovery', 'recovery', 'rcv_x'],
  ['webhookEndpoints.test', 'webhook_test', 'whe_x'],
  ['checkout.preview', { ok: true, action: 'checkout.preview', result: {} }, BODY],
  ['checkout.create', { ok: true, action: 'checkout.create', result: {} }, BODY],
  ['fees.estimate', { ok: true, action: 'fees.estimate', result: {} }, { amount: 1 }],
  ['routes.list', { ok: true, routes: [] }, { environment: 'production' }],
  ['routing.decisions', 'routing_decisions', 'chk_x'],
  ['routing.replay', 'routing_replay', 'chk_x'],
  ['routing.dryRun', 'routing_dry_run', { amount: 1 }],
  ['routing.backtest', 'routing_backtest'],
  ['routing.rules', 'routing_rules', { version: 3 }],
  ['routing.saveRules', 'routing_rules', { version: 1, rules: [] }],
  ['routing.routes', PAGE],
  ['routing.overrideHealth', 'routing_route', 'rt_x', { health: 'standby' }],
  ['routing.transitions', PAGE],
  ['routing.experiments', PAGE],
  ['routing.experiment', 'experiment', 'exp_x'],
  ['routing.startExperiment', 'experiment', { variant: { smart: true } }],
  ['routing.endExperiment', 'experiment', 'exp_x'],
  ['providers.list', PAGE],
  ['webhooks.example', { ok: true, action: 'webhook.example', result: {} }],
  ['webhooks.verifySample', { ok: true, action: 'webhook.verify_sample', result: {} }, { payload: SAMPLE }],
  ['testClock.get', 'test_clock'],
  ['testClock.advance', 'test_clock', { seconds: 1 }],
  ['apiKeys.create', 'api_key', { name: 'Shop', scope: 'write' }],
  ['apiKeys.list', PAGE],
  ['apiKeys.revoke', 'api_key', 'key_x'],
  ['audit.list', PAGE],
  ['schema', { ok: true, operation: 'fees.estimate', inputSchema: {}, outputSchema: {} }, 'fees.estimate'],
  ['capabilities', { product: 'Tillway', entrypoints: [], actions: [] }],
];

type Methods = Record<string, (...args: unknown[]) => Promise<unknown>>;

/** One valid call of every SDK method that calls one endpoint, by the name of the method. */
export const CALLS: Readonly<Record<string, MethodCall>> = Object.fromEntries(
  ROWS.map(([name, answer, ...args]) => {
    const [resource = '', method] = name.split('.');
    const call = (tillway: Tillway) => {
      const client = tillway as unknown as Methods & Record<string, Methods>;
      return method === undefined ? client[resource]!(...args) : client[resource]![method]!(...args);
    };
    return [name, { answer: typeof answer === 'string' ? { object: answer, id: 'x' } : answer, call }];
  }),
);
