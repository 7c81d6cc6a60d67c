// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Environment } from '../../src/domain/route.ts';
import { quarterHourOf } from '../../src/operations/count-sales.ts';
import { QUARTER_HOUR_MS } from '../../src/store/tables/sales-rows.ts';
import { restrictStore } from '../../src/operations/access/restrict-store.ts';
import { type AttentionItem, needsAttention } from '../../src/operations/attention.ts';
import { readAttentionFacts } from '../../src/operations/attention-facts.ts';
import { readNewestSales } from '../../src/operations/sales-report.ts';
import type { Change } from '../../src/store/store.ts';

import { DAY, MINUTE, NOW, idOf } from '../fixtures/checkout-records.ts';
import { aDelivery, aRefund, anEndpoint, checkoutRecords, creationOf } from '../fixtures/store-records.ts';
import { runSql } from '../support/database.ts';
import { ask } from '../support/routing.ts';
import { type TestService, startTestService } from '../support/service.ts';

const LOCAL = ['sandbox_local_ach', 'sandbox_local_instant'];
const WEEK = 7 * DAY;
/** Number of the day before `NOW`, counted from 1970. */
const YESTERDAY = Math.floor(NOW / DAY) - 1;

interface Cause {
  name: string;
  text: RegExp;
  solve: RegExp;
  /** Time since which the item exists; undefined if it is not checked. */
  since?: number | null;
  plant(on: TestService): Promise<unknown>;
  remove(on: TestService): Promise<unknown>;
}

async function commit({ service }: TestService, ...changes: Change[]): Promise<void> {
  assert.deepEqual(await service.deps.store.commit(changes), { done: true });
}

const sql =
  (...statements: string[]) =>
  async ({ databaseUrl }: TestService) => {
    for (const statement of statements) await runSql(databaseUrl, statement);
  };

function health(ids: readonly string[], ...states: string[]) {
  return async (on: TestService) => {
    for (const id of ids) for (const state of states) await ask('PUT', on, `routes/${id}/health`, { health: state });
    await on.service.deps.router.refresh();
  };
}

/** Sums of one quarter-hour that ended `ago` before now. */
function hour(ago: number, paid: number, failed: number): string[] {
  const time = quarterHourOf(NOW - ago) - 2 * QUARTER_HOUR_MS;
  const row = (kind: string, count: number) =>
    `INSERT INTO sales_quarter_hours VALUES ('sandbox', ${time}, 'card', '${kind}', ${count}, 0, 0, 0, 0)`;
  return [row('paid', paid), row('failed/route/timed_out', failed), row('failed/buyer/abandoned', 500)];
}

const COUNTED = `INSERT INTO sales_cursors VALUES ('quarter_hours', ${NOW}, '') ON CONFLICT DO NOTHING`;

const endpoint = (fields: Partial<Parameters<typeof anEndpoint>[0]>) => (on: TestService) =>
  commit(on, { type: 'endpoint_saved', endpoint: anEndpoint(fields) });
const noEndpoint = sql("UPDATE webhook_endpoints SET status = 'deleted'");
const refund = (number: number, fields: Partial<Parameters<typeof aRefund>[0]>) => (on: TestService) =>
  commit(on, {
    type: 'refund_created',
    refund: aRefund({ id: idOf('ref', number), created: NOW + number, ...fields }),
    dueAt: NOW + DAY,
  });

const CAUSES: Cause[] = [
  {
    name: 'a ledger that does not sum to 0',
    text: /ledger does not sum to 0, but to 7 cents/,
    solve: /^tillway doctor$/,
    since: null,
    plant: sql(`INSERT INTO ledger_sums VALUES ('sandbox', 'provider_cost', ${YESTERDAY}, 0, 7, 0)`),
    remove: sql(`DELETE FROM ledger_sums WHERE day = ${YESTERDAY} AND debits = 7`),
  },
  {
    name: 'a kind of payment without a usable route',
    text: /No route for payments by local can be used/,
    solve: /^tillway routes list --environment sandbox$/,
    plant: health(LOCAL, 'standby'),
    remove: health(LOCAL, 'live', 'automatic'),
  },
  {
    name: 'an overridden route',
    text: /Route .* is overridden: .*by the operator/,
    solve: /^tillway routes override sandbox_card_backup automatic$/,
    plant: health(['sandbox_card_backup'], 'degraded'),
    remove: health(['sandbox_card_backup'], 'live', 'automatic'),
  },
  {
    name: 'a provider that is not ready',
    text: /Provider sandbox is not ready: its key was revoked/,
    solve: /^tillway providers check sandbox$/,
    since: NOW,
    plant: async ({ service }) => service.deps.readiness.markNotReady('sandbox', 'its key was revoked'),
    remove: async ({ service: { deps } }) => {
      deps.readiness.checkSoon('sandbox');
      await deps.readiness.checkDue();
    },
  },
  {
    name: 'a drop of success',
    text: /Success in the last hour is 80 % of 40 attempts; 98 % is usual/,
    solve: /^payments\?status=failed$/,
    since: NOW - 60 * MINUTE,
    plant: sql(COUNTED, ...hour(0, 32, 8), ...[1, 2, 3, 4].flatMap((weeks) => hour(weeks * WEEK, 98, 2))),
    remove: sql("UPDATE sales_quarter_hours SET count = 0 WHERE kind = 'failed/route/timed_out'"),
  },
  {
    name: 'an endpoint that fails',
    text: /shop\.example\/hooks does not acknowledge events/,
    solve: /^tillway endpoints test whe_/,
    since: NOW - DAY,
    plant: endpoint({ failingSince: NOW - DAY }),
    remove: endpoint({ failingSince: null, lastSuccessAt: NOW }),
  },
  {
    name: 'a disabled endpoint',
    text: /shop\.example\/hooks is disabled: an operator disabled it/,
    solve: /^tillway endpoints enable whe_/,
    since: NOW - 1,
    plant: endpoint({ status: 'disabled', disabledReason: 'an operator disabled it', disabledAt: NOW - 1 }),
    remove: endpoint({}),
  },
  {
    name: 'overdue deliveries',
    text: /Endpoints with overdue webhook deliveries: 1\./,
    solve: /^tillway deliveries list --status pending /,
    since: NOW - 6 * MINUTE,
    plant: async (on) => commit(on, { type: 'delivery_created', delivery: aDelivery({ dueAt: NOW - 6 * MINUTE }) }),
    remove: sql('UPDATE deliveries SET due_at = due_at + 120000'),
  },
  {
    name: 'dead deliveries',
    text: /Dead webhook deliveries.*: 1\./,
    solve: /^payments\/chk_/,
    since: NOW,
    plant: sql("UPDATE deliveries SET status = 'dead'"),
    remove: noEndpoint,
  },
  {
    name: 'an open discrepancy',
    text: /Open discrepancies and reversals: 2\./,
    solve: /^payments\/chk_/,
    since: NOW - 5,
    plant: async (on) => {
      for (const [number, kind] of (['reversal', 'amount_mismatch'] as const).entries()) {
        const discrepancy = { ...DISCREPANCY, id: idOf('dis', number), kind, created: NOW - 5 * number };
        await commit(on, { type: 'discrepancy_opened', discrepancy });
      }
    },
    remove: sql("UPDATE discrepancies SET status = 'resolved'"),
  },
  {
    name: 'a refund that has been pending for a day',
    text: /Refunds that have been pending for more than a day: 1\./,
    solve: /^payments\/chk_/,
    since: NOW - 2 * DAY,
    plant: refund(-2 * DAY, {}),
    remove: sql("UPDATE refunds SET status = 'succeeded', due_at = NULL"),
  },
  {
    name: 'a failed refund',
    text: /Failed refunds whose payment has no later refund: 1\./,
    solve: /^payments\/chk_/,
    since: NOW - DAY,
    plant: refund(-DAY, { status: 'failed' }),
    remove: refund(-1000, {}),
  },
  {
    name: 'a payment that is paid and unsettled for long',
    text: /more than 5 days ago that are in no payout: 1\./,
    solve: new RegExp(`^payments\\?to=${new Date(NOW - 5 * DAY).toISOString().slice(0, 10)}&only=unsettled$`),
    since: NOW - 6 * DAY,
    plant: async (on) => {
      const records = checkoutRecords(2);
      const payment = {
        ...records.payment,
        id: idOf('pay', -6 * DAY),
        created: NOW - 6 * DAY,
        status: 'paid' as const,
      };
      const invoice = { ...records.invoice, paymentId: payment.id };
      await commit(on, ...creationOf({ ...records, payment, invoice }));
    },
    remove: sql("UPDATE payments SET ledger_status = 'settled'"),
  },
];

const DISCREPANCY = {
  environment: 'sandbox' as const,
  status: 'open' as const,
  version: 1,
  sessionId: idOf('chk', 1),
  customerId: idOf('cus', 1),
  paymentId: null,
  subject: 'pay',
  provider: 'sandbox',
  eventId: null,
  expected: 4999,
  received: 4998,
  currency: 'USD',
  refunding: false,
  refundId: null,
  resolution: null,
  note: null,
  resolvedAt: null,
};

test('each cause appears among what needs attention, and disappears with it', async () => {
  await using on = await startTestService();
  on.clock.advance(NOW - on.clock.now());
  await on.service.deps.router.refresh();
  const { deps } = on.service;
  const items = async (environment: Environment = 'sandbox', isOpen = false): Promise<AttentionItem[]> => {
    const restricted = { ...deps, store: restrictStore(deps.store, environment) };
    const newest = await readNewestSales(restricted, environment);
    return needsAttention(await readAttentionFacts(restricted, environment, { allowsUnauthenticated: isOpen, newest }));
  };
  await commit(on, ...creationOf(checkoutRecords(1)));
  assert.deepEqual(await items(), []);

  for (const { name, text, solve, since, plant, remove } of CAUSES) {
    await plant(on);
    const found = await items();
    const item = found.find((each) => text.test(each.text));
    assert.ok(item, `${name}: ${JSON.stringify(found)}`);
    assert.match('page' in item.solve ? item.solve.page : item.solve.command, solve, name);
    if (since !== undefined) assert.equal(item.since, since, name);
    assert.deepEqual(await items('production'), [], name);
    await remove(on);
    assert.deepEqual(await items(), [], name);
  }

  assert.deepEqual(
    (await items('sandbox', true)).map((item) => item.solve),
    [{ command: 'unset ALLOW_UNAUTHENTICATED' }],
  );
});

test('a route in standby names the time of its next try only until that time has passed', async () => {
  await using on = await startTestService();
  const { deps } = on.service;
  const newest = await readNewestSales(deps, 'sandbox');
  const facts = await readAttentionFacts(deps, 'sandbox', { allowsUnauthenticated: false, newest });
  const [first] = facts.routes;
  const words = 'standby: the last try failed (in standby), next try at 11:15:57 UTC';
  const health = { ...first!.health, cause: 'low_success' as const, words, retryAt: facts.now + MINUTE };
  const route = { ...first!, health, facts: { ...first!.facts, health: 'standby' as const } };
  const textAt = (now: number) => needsAttention({ ...facts, routes: [route], now }).at(-1)!.text;
  assert.match(textAt(facts.now), /next try at 11:15:57 UTC\.$/);
  assert.match(textAt(facts.now + MINUTE), /\), next try: with the next suitable payment\.$/);
});

test('a drop of success needs enough attempts, and an unlikely number of failures', async () => {
  await using on = await startTestService();
  on.clock.advance(NOW - on.clock.now());
  const { deps } = on.service;
  const usual = [1, 2, 3, 4].flatMap((weeks) => hour(weeks * WEEK, 90, 10));
  for (const [paid, failed, expected] of [
    [0, 19, 0],
    [15, 5, 0],
    [13, 7, 1],
    [40, 0, 0],
  ] as const) {
    await sql(COUNTED, 'DELETE FROM sales_quarter_hours', ...hour(0, paid, failed), ...usual)(on);
    const facts = await readAttentionFacts(deps, 'sandbox', {
      allowsUnauthenticated: false,
      newest: await readNewestSales(deps, 'sandbox'),
    });
    const drops = needsAttention(facts).filter((item) => item.text.startsWith('Success'));
    assert.equal(drops.length, expected, `${paid} of ${paid + failed}`);
  }
});
