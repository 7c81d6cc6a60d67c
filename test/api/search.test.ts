// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { termOf } from '../../src/domain/search-term.ts';
import { indexRecords } from '../../src/operations/search-records.ts';
import { searchRecords } from '../../src/operations/search-records.ts';
import { attempt, createSession } from '../simulator/buyer.ts';
import { queryRows } from '../support/database.ts';
import { runs } from '../support/for-all.ts';
import { gatewayOf, paymentsOf } from '../support/gateway.ts';
import { startTestService } from '../support/service.ts';
import { assertSound } from '../support/sound.ts';
import { suiteService } from '../support/suite.ts';

const MINUTE = 60_000;
const KEYS = { SEARCH_METADATA_KEYS: 'orderId,sku' };

const ids: Record<string, string> = {};
let paid = '';
let other = '';

const on = suiteService({ variables: KEYS }, async () => {
  paid = await createSession(on, {
    amount: 1234.5,
    customer: 'Ada.Lovelace@Engine.example',
    clientReferenceId: 'ref-77',
    idempotencyKey: 'order-key-0001',
    metadata: { orderId: 'A-1001%_x', sku: 'Größe "L"', note: 'not searched' },
  });
  await attempt(on, paid, 'card', 'paid');
  await on.pass(0);
  other = await createSession(on, { amount: 49.99, customer: 'ada@other.example', metadata: { orderId: '4711' } });
  for (let index = 0; index < 7; index++) {
    await createSession(on, { amount: 7, customer: 'often@many.example' });
    on.clock.advance(1000);
  }
  const [payment] = await paymentsOf(on, paid);
  const refund = await api.post<{ id: string }>(`payments/${payment!.id}/refunds`, {
    amount: 1,
    idempotencyKey: 'refund-key-0001',
  });
  ids['payment'] = payment!.id;
  ids['invoice'] = payment!.invoiceId;
  ids['customer'] = payment!.customerId;
  ids['refund'] = refund.id;
  ids['event'] = `evt_${paid}_paid`;
  ids['reference'] = payment!.providerReference!;
  ids['transaction'] = payment!.txHash!;
  ids['total'] = (payment!.fees.total / 100).toFixed(2);
});
const api = gatewayOf(on);

async function sessionsOf(query: string): Promise<string[]> {
  const { sessions, customerId } = await searchRecords(on.service.deps, 'sandbox', query);
  assert.equal(customerId, undefined, query);
  return sessions.items.map(({ id }) => id);
}

/** Searches that must find one checkout, whether or not its terms are stored; `others` are further ones. */
async function findsEverything(...others: string[]): Promise<void> {
  const queries = [
    paid,
    ...['payment', 'invoice', 'refund', 'event', 'reference'].map((name) => ids[name]!),
    ...others,
    `$${ids['total']}`,
    '1234.50',
    ' $1,234.50 ',
    'ada.lovelace@ENGINE.example',
    'A-1001%_x',
    'a-1001%_X',
    'GRößE "l"',
    'ref-77',
    'order-key-0001',
    'refund-key-0001',
  ];
  for (const query of queries) assert.deepEqual(await sessionsOf(query), [paid], query);
  assert.deepEqual(await sessionsOf('4711'), [other]);
  assert.deepEqual(await sessionsOf('$49.99'), [other]);
  for (const query of [
    '',
    ' ',
    'not searched',
    'A-1001',
    'A-1001__x',
    '$1',
    '@',
    '@engine.example',
    'x\0',
    'nobody@',
    'ada.lovelace@',
    'ada',
    ids['customer']!.slice(0, -1),
  ]) {
    assert.deepEqual(await sessionsOf(query), [], query);
  }
  assert.deepEqual(await sessionsOf(ids['customer']!), [paid]);
}

describe('the search', () => {
  test('every kind of query finds its record before and after the worker has stored its terms', async () => {
    assert.equal((await queryRows(on.databaseUrl, 'SELECT 1 AS one FROM search_terms')).length, 0);
    await findsEverything();
    await on.pass(2 * MINUTE);
    const fields = await queryRows(on.databaseUrl, 'SELECT DISTINCT field FROM search_terms ORDER BY field');
    assert.deepEqual(
      fields.map(({ field }) => field),
      ['amount', 'metadata', 'transaction'],
    );
    await findsEverything(ids['transaction']!);
    await assertSound(on.databaseUrl);
  });

  test('a search shows the newest five records of a kind and tells that there are more', async () => {
    const seven = await searchRecords(on.service.deps, 'sandbox', '7');
    assert.deepEqual([seven.sessions.items.length, seven.sessions.hasMore], [5, true]);
    const newest = await api.ids('sessions?limit=5&customer=often@many.example');
    assert.deepEqual(
      seven.sessions.items.map(({ id }) => id),
      newest,
    );
    // The buyer has started no payment.
    const { sessions, customerId } = await searchRecords(on.service.deps, 'sandbox', 'often@many.example');
    assert.deepEqual([sessions.items.map(({ id }) => id), sessions.hasMore, customerId], [newest, true, undefined]);
  });

  test('a search finds nothing of the other environment', async () => {
    for (const query of [paid, '$1,234.50', 'A-1001%_x', 'ref-77', ids['reference']!]) {
      const { deps } = on.service;
      const restricted = {
        ...deps,
        store: (await import('../../src/operations/access/restrict-store.ts')).restrictStore(deps.store, 'production'),
      };
      assert.deepEqual((await searchRecords(restricted, 'production', query)).sessions.items, [], query);
    }
  });

  test('two instances store the terms of every record once, also if the clock was set back', async () => {
    await using first = await startTestService({ variables: KEYS });
    await using second = await startTestService({ variables: KEYS, beside: first });
    for (let index = 0; index < 5; index++) await createSession(first, { amount: 10 + index });
    first.clock.advance(2 * MINUTE);
    const counts = await Promise.all([first, second].map(({ service }) => indexRecords(service.deps, () => false)));
    assert.equal(counts[0]! + counts[1]!, 5);
    first.clock.advance(-60 * MINUTE);
    await indexRecords(first.service.deps, () => false);
    await using restarted = await startTestService({ variables: KEYS, beside: first });
    const late = await createSession(restarted, { amount: 77 });
    first.clock.advance(2 * MINUTE);
    await indexRecords(second.service.deps, () => false);
    const { sessions } = await searchRecords(second.service.deps, 'sandbox', '$77.00');
    assert.deepEqual(
      sessions.items.map(({ id }) => id),
      [late],
    );
    await assertSound(first.databaseUrl);
  });

  test('erasing a customer leaves no term, before and after the worker has run', async () => {
    await using test = await startTestService({ variables: KEYS });
    const gateway = gatewayOf(test);
    const id = await createSession(test, {
      amount: 5,
      customer: 'gone@soon.example',
      metadata: { orderId: 'secret-1' },
    });
    await test.pass(2 * MINUTE);
    assert.equal((await queryRows(test.databaseUrl, 'SELECT id FROM search_terms')).length, 2);
    const { customerId } = (await test.service.deps.store.session(id))!;
    await gateway.post(`customers/${customerId}/erase`, { confirm: customerId });
    for (const late of [0, 2 * MINUTE]) {
      await test.pass(late);
      assert.deepEqual(await queryRows(test.databaseUrl, 'SELECT id FROM search_terms'), []);
    }
    // A worker of another instance that has read the rows before the erasure adds no terms after it.
    const term = { environment: 'sandbox' as const, field: 'metadata' as const, term: 'secret-1', id, customerId };
    const [cursor] = await queryRows(test.databaseUrl, "SELECT position FROM search_cursors WHERE source = 'sessions'");
    const after = String(cursor!['position']);
    const from = { source: 'sessions' as const, after, last: after, rows: [] };
    assert.ok((await test.service.deps.store.commit([{ type: 'terms_added', from, terms: [term] }])).done);
    assert.deepEqual(await queryRows(test.databaseUrl, 'SELECT id FROM search_terms'), []);
    await assertSound(test.databaseUrl);
  });

  test('no text fails the search', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 600 }), async (text) => {
        await searchRecords(on.service.deps, 'sandbox', text);
        assert.equal(termOf(termOf(text)), termOf(text));
      }),
      { numRuns: runs(40) },
    );
  });
});
