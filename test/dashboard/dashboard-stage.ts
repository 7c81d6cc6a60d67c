import { principalOfKey } from '../../src/domain/principal.ts';
import { withAudit } from '../../src/operations/access/audit.ts';
import { quarterHourOf } from '../../src/operations/count-sales.ts';
import { blockCustomer } from '../../src/operations/customers/manage-customers.ts';
import { resolveDiscrepancy } from '../../src/operations/discrepancies/resolve-discrepancy.ts';
import { expireSession } from '../../src/operations/expire-session.ts';
import { createRefund } from '../../src/operations/refunds/create-refund.ts';
import { HTML_INJECTION } from '../checkout/stage.ts';
import { anApiKey } from '../fixtures/api-key-records.ts';
import { DAY, MINUTE, NOW, idOf } from '../fixtures/checkout-records.ts';
import { applySandboxSignal, refundSignal, reportPayment, settlementSignal } from '../fixtures/provider-reports.ts';
import { write } from '../fixtures/store-records.ts';
import { attempt, createSession, startAt } from '../simulator/buyer.ts';
import { runSql } from '../support/database.ts';
import { startServer } from '../support/http-server.ts';
import { type TestService, startTestService } from '../support/service.ts';

/** Places of text that the operators of a service do not write. */
export const PLACES = [
  'product',
  'metadata name',
  'metadata',
  'reference',
  'reason',
  'answer',
  'key',
  'note',
  'block',
  'dispute',
  'payout',
  'refund',
  'route',
  'provider',
  'query',
  'field',
] as const;
type Place = (typeof PLACES)[number];

/** A text that runs a script if a page does not escape it. Names of metadata are short and have no quotation marks. */
export function evil(place: Place): string {
  return `${place}${place === 'metadata name' ? '<b><img>' : `'"></textarea><script>document.title=1</script>${HTML_INJECTION}`}`;
}

/** A service with a payment in every state and hostile text in every place. */
export async function startDashboardStage() {
  const receiver = await startServer((_, response) => response.writeHead(500).end(evil('answer')));
  const secrets = { WEBHOOK_SECRET: `whsec_${Buffer.alloc(32, 3).toString('base64')}` };
  const encryption = { ENCRYPTION_KEY: Buffer.alloc(32, 9).toString('base64') };
  const variables = { WEBHOOK_URL: receiver.url, ...secrets, ...encryption };
  const test = await startTestService({ variables });
  const ids = await fill(test);
  return {
    test,
    ids,
    async [Symbol.asyncDispose]() {
      await test[Symbol.asyncDispose]();
      await receiver[Symbol.asyncDispose]();
    },
  };
}

/** Ids of sessions, payments and discrepancies by their state. */
async function fill(test: TestService): Promise<Record<string, string>> {
  const { deps } = test.service;
  const { store } = deps;
  const texts = { product: evil('product'), clientReferenceId: evil('reference') };
  const create = (name: string) =>
    createSession(test, {
      ...texts,
      customer: `${name}@example.com`,
      metadata: { [evil('metadata name')]: evil('metadata'), long: 'x'.repeat(300) },
    });
  const after = async (outcome: string, name = outcome) => {
    const sessionId = await create(name);
    await attempt(test, sessionId, 'card', outcome);
    await test.pass(0);
    const { payments, discrepancies } = (await store.checkout(sessionId))!;
    return { sessionId, paymentId: payments[0]!.id, discrepancyId: discrepancies[0]?.id ?? '' };
  };
  const [paid, refunded, disputed, settled] = [
    await after('paid'),
    await after('paid', 'refunded'),
    await after('paid', 'disputed'),
    await after('paid', 'settled'),
  ];
  const [wrong, resolved] = [await after('wrong_amount'), await after('wrong_amount', 'resolved')];
  await createRefund(deps, paid.paymentId, { amount: 10 });
  await createRefund(deps, refunded.paymentId, {});
  await test.pass(0);

  const { refund } = await createRefund(deps, settled.paymentId, { amount: 20 });
  const failed = refundSignal(refund, 'failed');
  if (failed.about === 'refund') failed.refund.reason = evil('refund');
  await applySandboxSignal(deps, failed);
  await applySandboxSignal(deps, settlementSignal({ ...settled, amount: 4999, reference: evil('payout') }));
  await resolveDiscrepancy(deps, resolved.discrepancyId, { action: 'accept', note: evil('note') });
  const { sessionId, paymentId } = disputed;
  const about = { id: idOf('rev', 1), sessionId, paymentId, environment: 'sandbox', reference: 'dp_1' } as const;
  const state = { status: 'open', revision: 1, taken: 4999, fee: 1500, reason: evil('dispute') } as const;
  await write(store, {
    type: 'reversal_changed',
    reversal: { ...about, ...state, created: NOW, updated: NOW },
    from: null,
  });

  const declined = await create('declined');
  await startAt(test, declined, 'card');
  const failure = { code: 'declined', source: 'issuer', reason: evil('reason') } as const;
  await reportPayment(deps, { sessionId: declined, paymentId: null, status: 'failed', amount: 4999, failure });
  const waiting = await create('waiting');
  await startAt(test, waiting, 'card');
  const blocked = await create('blocked');
  await blockCustomer(deps, (await store.session(blocked))!.customerId, evil('block'));
  const expired = await create('expired');
  const key = anApiKey(1, { name: evil('key') });
  await write(store, { type: 'api_key_created', key });
  await withAudit(
    { ...deps, caller: principalOfKey(key) },
    { action: 'expireSession', kind: 'change', params: { id: expired } },
    (own) => expireSession(own, expired),
  );
  const unstarted = await create('new');
  deps.readiness.markNotReady('sandbox', `${evil('provider')} ${'x'.repeat(300)}`);
  await fillSales(test);
  return {
    new: unstarted,
    waiting,
    declined,
    blocked,
    expired,
    paid: paid.sessionId,
    refunded: refunded.sessionId,
    disputed: disputed.sessionId,
    settled: settled.sessionId,
    wrong: wrong.sessionId,
    resolved: resolved.sessionId,
    discrepancy: wrong.discrepancyId,
    paidPayment: paid.paymentId,
    refundedPayment: refunded.paymentId,
  };
}

/** Sums of sales of the last 60 days, on a route with a hostile name. */
async function fillSales({ databaseUrl, clock, service }: TestService): Promise<void> {
  const route = evil('route').replaceAll("'", "''");
  const rows = Array.from({ length: 60 }, (_, day) => {
    const time = quarterHourOf(clock.now()) - day * DAY - 60 * MINUTE;
    return [
      ['started', 300],
      ['paid', 250 + ((day * 31) % 40)],
      ['refunded', 3],
      ['failed/route/timed_out', 9],
      ['failed/buyer/abandoned', 7],
    ].map(
      ([kind, count]) => `('sandbox', ${time}, '${route}', '${kind}', ${count}, ${Number(count) * 4999}, 0, 60, 0)`,
    );
  });
  await runSql(databaseUrl, `INSERT INTO sales_quarter_hours VALUES ${rows.flat().join(', ')}`);
  const counted = quarterHourOf(clock.now()) - 45 * MINUTE;
  await runSql(databaseUrl, `INSERT INTO sales_cursors VALUES ('quarter_hours', ${counted}, '')`);
  await service.runDue();
}
