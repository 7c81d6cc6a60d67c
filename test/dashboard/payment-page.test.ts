import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { paymentActions } from '../../src/dashboard/pages/payment-actions.ts';
import { paymentPage } from '../../src/dashboard/pages/payment-page.ts';
import { entriesOf } from '../../src/dashboard/pages/payment-timeline.ts';
import { refundPage } from '../../src/dashboard/pages/refund-page.ts';
import type { DashboardDeps, DashboardPage, Visit, VisitHandler } from '../../src/dashboard/visit.ts';
import { ROLES, type Permission, type Role, can } from '../../src/domain/permission.ts';
import { centsFromText } from '../../src/domain/money.ts';
import { machinePrincipal } from '../../src/domain/principal.ts';
import { escapeText, html } from '../../src/html/html.ts';
import { restrictStore } from '../../src/operations/access/restrict-store.ts';
import { blockCustomer, unblockCustomer } from '../../src/operations/customers/manage-customers.ts';
import type { Deps } from '../../src/operations/deps.ts';
import { resolveDiscrepancy } from '../../src/operations/discrepancies/resolve-discrepancy.ts';
import { expireSession } from '../../src/operations/expire-session.ts';
import { replayDelivery, resendEvent } from '../../src/operations/redeliver.ts';
import { readTimeline } from '../../src/operations/timeline.ts';
import { HTML_INJECTION } from '../checkout/stage.ts';
import { NOW, idOf } from '../fixtures/checkout-records.ts';
import { fillWithEveryState } from '../fixtures/every-state.ts';
import { reportPayment } from '../fixtures/provider-reports.ts';
import { anAttemptOf, anEndpoint, write } from '../fixtures/store-records.ts';
import { attempt, createSession, startAt, submit } from '../simulator/buyer.ts';
import { createServiceDatabase, openTestStore, queryRows, runSql } from '../support/database.ts';
import { gatewayOf } from '../support/gateway.ts';
import { createTestClock, startTestService } from '../support/service.ts';
import { suiteService } from '../support/suite.ts';

/** A service on a database with a session in every state. */
async function startWithEveryState() {
  const database = await createServiceDatabase();
  const store = await openTestStore(database.settings, { now: () => NOW });
  await fillWithEveryState(store);
  await write(store, {
    type: 'reversal_changed',
    reversal: {
      id: idOf('rev', 6),
      paymentId: idOf('pay', 6),
      sessionId: idOf('chk', 6),
      environment: 'sandbox',
      reference: 'dp_1',
      status: 'open',
      revision: 1,
      taken: 5024,
      fee: 1500,
      reason: 'fraudulent',
      created: NOW,
      updated: NOW,
    },
    from: null,
  });
  await store.close();
  // Nobody has the encryption key of these secrets. Without API keys, the dashboard is open.
  for (const table of ['webhook_secrets', 'api_key_spend', 'api_keys'])
    await runSql(database.url, `DELETE FROM ${table}`);
  const test = await startTestService({ beside: { databaseUrl: database.url, clock: createTestClock(NOW) } });
  return {
    ...test,
    async [Symbol.asyncDispose]() {
      await test[Symbol.asyncDispose]();
      await database[Symbol.asyncDispose]();
    },
  };
}

/** The text of a page without its markup, on one line. */
function textOf(markup: string): string {
  return markup
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll('&#39;', "'")
    .replaceAll(/\s+/g, ' ');
}

const SENTENCES: Record<number, RegExp> = {
  1: /Not started.*has not started to pay\. The checkout expires at 16 Jan 2027/,
  2: /Waiting.*A different amount has arrived.*The provider reports \$0\.26 instead of \$50\.24/,
  3: /May try again.*It counts against the route\. The buyer may try again until 15 Jan 2027/,
  4: /Failed.*The buyer cancelled the payment.*does not count against the route.*The checkout is closed/,
  5: /Expired.*ended before the buyer started to pay/,
  6: /Disputed.*one@example\.com paid \$50\.24 by Card, simulated\..*\$50\.24 is taken back.*charged \$15\.00.*says fraudulent/,
  7: /Paid.*paid a second time, \$50\.24; this money was refunded/,
  8: /Refunded.*All of it was refunded.*\$48\.54 was paid out/,
  9: /Paid.*arrived after the payment had failed.*A refund of \$10\.00 is in progress/,
  11: /Paid.*Refund of \$20\.00 failed.*\$48\.54 was paid out/,
  12: /Paid.*paid a second time, \$50\.24; this money is being refunded/,
  13: /May try again.*did not accept the payment.*It counts against the route/,
  14: /Paid.*arrived after the payment had failed/,
  15: /Waiting.*waits for the buyer to pay/,
  16: /Waiting.*may or may not have the payment.*asks it again at/,
  17: /Not started/,
  18: /May try again/,
};

/** Rows of a session that its timeline shows, by the kind of entry. */
const ROWS = {
  checkout: 'sessions WHERE id = $',
  routing: 'routing_decisions WHERE session_id = $ OR id = (SELECT decision_id FROM sessions WHERE id = $)',
  payment: 'payments WHERE session_id = $',
  provider: 'provider_messages WHERE session_id = $',
  dispute: 'reversals WHERE session_id = $',
  discrepancy: 'discrepancies WHERE session_id = $',
  refund: 'refunds WHERE session_id = $',
  refund_result: "refunds WHERE session_id = $ AND status <> 'pending'",
  resolution: 'discrepancies WHERE session_id = $ AND resolved_at IS NOT NULL',
  ledger: 'ledger_entries WHERE session_id = $ AND line = 0',
  payout: 'settlements WHERE session_id = $',
  event: 'events WHERE session_id = $',
  webhook: 'delivery_attempts WHERE delivery_id IN (SELECT id FROM deliveries WHERE session_id = $)',
};

describe('the payment page', () => {
  it('explains every state in a sentence, and its timeline has an entry for every row', async () => {
    await using test = await startWithEveryState();
    for (let number = 1; number <= 18; number++) {
      const id = idOf('chk', number);
      const environment = number === 10 ? 'production' : 'sandbox';
      const answer = await fetch(`${test.url}/dashboard/${environment}/payments/${id}`);
      const page = await answer.text();
      assert.equal(answer.status, 200, textOf(page));
      assert.match(textOf(page), SENTENCES[number] ?? /Paid/, String(number));
      const entries = entriesOf(await readTimeline(test.service.deps, id));
      for (const [kind, from] of Object.entries(ROWS)) {
        const [row] = await queryRows(
          test.databaseUrl,
          `SELECT COUNT(*) AS found FROM ${from.replaceAll('$', `'${id}'`)}`,
        );
        assert.equal(entries.filter((entry) => entry.kind === kind).length, Number(row!['found']), `${number} ${kind}`);
      }
      assert.equal(page.match(/<li id=/g)!.length, entries.length);
      assert.equal(new Set(entries.map((entry) => entry.id)).size, entries.length);
      assert.deepEqual(
        entries.map(({ at }) => at),
        entries.map(({ at }) => at).toSorted((a, b) => a - b),
      );
      assert.ok(!page.includes('Recomputed') || textOf(page).includes('Recomputed identical'));
    }
  });

  it('leads from the id of a payment to its place, and does not know the ids of the other environment', async () => {
    await using test = await startWithEveryState();
    const at = (path: string) =>
      fetch(`${test.url}/dashboard/${path}`, { redirect: 'manual', headers: { accept: 'text/html' } });
    const moved = await at(`sandbox/payments/${idOf('pay', 17)}`);
    assert.equal(moved.headers.get('location'), `/dashboard/sandbox/payments/${idOf('chk', 7)}#${idOf('pay', 17)}`);
    for (const id of [idOf('pay', 10), idOf('chk', 10), idOf('chk', 99), idOf('cus', 1), 'x'])
      assert.equal((await at(`sandbox/payments/${id}`)).status, 404);
    const found = await (await at(`sandbox/search?q=${idOf('pay', 10)}`)).text();
    assert.ok(found.includes(`href="/dashboard/production/search?q=${idOf('pay', 10)}"`));
  });
});

/** Runs the handler of a page for a person with a role. */
async function visitAs(role: Role, deps: Deps, method: 'get' | 'post', path: string, id: string, form = {}) {
  const handlers = new Map<string, VisitHandler>();
  const routes = {
    get: (at: string, handler: VisitHandler) => void handlers.set(`get ${at}`, handler),
    post: (at: string, _action: string, handler: VisitHandler) => void handlers.set(`post ${at}`, handler),
  };
  for (const add of [paymentPage, paymentActions, refundPage]) add(routes);
  const principal = { ...machinePrincipal('sandbox'), kind: 'operator' as const, name: 'ada@example.com', role };
  const visit: Partial<Visit> = {
    deps: { ...deps, store: restrictStore(deps.store, 'sandbox'), caller: principal } as DashboardDeps,
    visitor: { principal, formSecret: 's', loginId: undefined, environments: ['sandbox'] },
    environment: 'sandbox',
    query: new URLSearchParams(),
    form: new URLSearchParams(form),
    here: path,
    formToken: html``,
    param: () => id,
    path: (page) => `/dashboard/sandbox/${page}`,
    renewedDeps: async () => undefined,
  };
  return handlers.get(`${method} ${path}`)!(visit as Visit);
}

const forbidden = { code: 'forbidden' };

describe('roles on the payment page', () => {
  it('a viewer sees neither addresses, metadata and bodies nor actions; support sees them', async () => {
    await using test = await startWithEveryState();
    const { deps } = test.service;
    const pageFor = async (role: Role, number: number) => {
      const answer = (await visitAs(role, deps, 'get', '/payments/:id', idOf('chk', number))) as DashboardPage;
      return answer.main.markup;
    };
    for (const number of [1, 2, 6, 7, 8, 11]) {
      const seen = await pageFor('viewer', number);
      for (const secret of ['one@example.com', 'A-1001', '<pre', '<form', 'small-button" id="to-', '/checkout/']) {
        assert.ok(!seen.includes(secret), `${number} ${secret}`);
      }
      assert.match(seen, /o•••@•••/);
      assert.match(await pageFor('support', number), /one@example\.com/);
    }
    assert.match(await pageFor('support', 1), /id="to-[^"]*\/expire"/);
    assert.ok(!(await pageFor('support', 2)).includes('Resolve'));
    assert.match(await pageFor('operator', 2), /Resolve/);
  });

  it('an action without the permission is forbidden on the page and in the operation, and changes nothing', async () => {
    await using test = await startWithEveryState();
    const { deps } = test.service;
    const [chk, pay] = [idOf('chk', 1), idOf('pay', 6)];
    const [discrepancy] = (await deps.store.checkout(idOf('chk', 2)))!.discrepancies;
    const [event] = await deps.store.eventsOfSession(idOf('chk', 6));
    const before = await deps.store.sessionRecords(chk);
    const refund = { key: `dashboard-${'k'.repeat(22)}`, amount: '1' };
    const pages: [string, string, object][] = [
      ['/payments/:id/refund', pay, refund],
      ['/payments/:id/resend', chk, { event: event!.id }],
      ['/payments/:id/expire', chk, {}],
      ['/payments/:id/block', chk, {}],
      ['/payments/:id/unblock', chk, {}],
      ['/discrepancies/:id', discrepancy!.id, { action: 'accept' }],
    ];
    for (const [path, id, form] of pages) {
      await assert.rejects(visitAs('viewer', deps, 'post', path, id, form), forbidden, path);
      if (!path.endsWith('resend')) await assert.rejects(visitAs('viewer', deps, 'get', path, id), forbidden, path);
    }
    await assert.rejects(visitAs('support', deps, 'get', '/discrepancies/:id', discrepancy!.id), forbidden);
    assert.deepEqual(await deps.store.sessionRecords(chk), before);
    assert.equal((await deps.store.listRefunds({ sessionId: idOf('chk', 6) }, { limit: 1 })).items.length, 0);

    const nobody = idOf('cus', 99);
    const operations: [Permission, (deps: Deps) => Promise<unknown>][] = [
      ['session.expire', (as) => expireSession(as, idOf('chk', 99))],
      ['customer.block', (as) => blockCustomer(as, nobody, null)],
      ['customer.block', (as) => unblockCustomer(as, nobody)],
      ['delivery.send', (as) => resendEvent(as, 'evt_none')],
      ['delivery.send', (as) => replayDelivery(as, idOf('dlv', 99))],
      ['discrepancy.resolve', (as) => resolveDiscrepancy(as, idOf('dis', 99), { action: 'accept', note: null })],
      ['payments.read', (as) => readTimeline(as, idOf('chk', 99))],
    ];
    for (const [permission, run] of operations) {
      for (const role of [...ROLES, null]) {
        const caller = { ...machinePrincipal('sandbox'), role };
        const code = can({ role }, permission) ? 'not_found' : 'forbidden';
        await assert.rejects(run({ ...deps, caller }), { code }, `${permission} ${role}`);
      }
    }
  });
});

const service = suiteService({ sound: true });

/** The page of a session of {@link service}, or a page below it. */
const payments = (page: string) => `${service.url}/dashboard/sandbox/payments/${page}`;
const textAt = async (url: string) => (await fetch(url)).text();

/** Hidden fields of the first POST form of a page. */
function hiddenFields(page: string): Record<string, string> {
  const [form = ''] = /<form method="post"[^]*?<\/form>/.exec(page.slice(page.indexOf('<main'))) ?? [];
  const found = form.matchAll(/<input\s+type="hidden"\s+name="([^"]*)"\s+value="([^"]*)"/g);
  return Object.fromEntries(Array.from(found, ([, name, value]) => [name!, value!]));
}

async function paidSession(overrides: Record<string, unknown> = {}): Promise<{ id: string; paymentId: string }> {
  const id = await createSession(service, overrides);
  await attempt(service, id, 'card', 'paid');
  await service.pass(0);
  return { id, paymentId: (await service.service.deps.store.checkout(id))!.payments[0]!.id };
}

describe('actions on the payment page', () => {
  it('ten parallel refund forms with one key make one refund of a part', async () => {
    const { id, paymentId } = await paidSession();
    const url = payments(`${paymentId}/refund`);
    const page = await textAt(url);
    assert.match(textOf(page), /\$49\.99 of test money can be refunded to buyer@example\.com\. \$48\.54 of it is/);
    assert.match(textOf(page), /Refund this amount of test money to buyer@example\.com/);
    assert.match(page, /name="amount"[^>]*value="49\.99"/);
    const fields = { ...hiddenFields(page), amount: '$10' };
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => submit(url, { ...fields, reason: 'duplicate' })),
    );
    for (const answer of answers) {
      assert.equal(answer.headers.get('location'), `/dashboard/sandbox/payments/${id}?notice=refund#${paymentId}`);
    }
    const { items } = await service.service.deps.store.listRefunds({ sessionId: id }, { limit: 10 });
    assert.deepEqual(
      items.map(({ amount, reason }) => [amount, reason]),
      [[1000, 'duplicate']],
    );
    assert.match(await textAt(payments(`${id}?notice=refund`)), /role="status">The refund was requested/);

    const reused = await submit(url, { ...fields, amount: '11.00' });
    assert.equal(reused.status, 422);
    const answer = await reused.text();
    assert.ok(answer.includes(`href="${new URL(url).pathname}">Go back`));
    assert.doesNotMatch(answer, /idempotencyKey/);
    assert.notEqual(hiddenFields(await textAt(url))['key'], hiddenFields(page)['key']);
  });

  it('of two people with the same refund form, the second one learns that the payment has changed', async () => {
    const { id, paymentId } = await paidSession();
    const url = payments(`${paymentId}/refund`);
    const forms = [hiddenFields(await textAt(url)), hiddenFields(await textAt(url))];
    const send = (form: object) => submit(url, { ...form, amount: '20' });
    const [first, second] = [await send(forms[0]!), await send(forms[1]!)];
    assert.deepEqual([first.status, second.status], [303, 409]);
    assert.match(textOf(await second.text()), /29\.99 USD can be refunded now, not 49\.99 USD/);
    assert.equal((await send(forms[0]!)).status, 303);
    assert.equal((await service.service.deps.store.listRefunds({ sessionId: id }, { limit: 9 })).items.length, 1);
    assert.equal((await send(hiddenFields(await textAt(url)))).status, 303);
  });

  it('names the second payment of a checkout, so that nobody refunds the first one instead', async () => {
    // The simulator fails the automatic refund of this amount.
    const id = await createSession(service, { amount: 40.02 });
    await attempt(service, id, 'card', 'late_success');
    await service.pass(0);
    await attempt(service, id, 'wallet', 'paid');
    await service.pass(31_000);
    const { payments: both } = (await service.service.deps.store.checkout(id))!;
    const page = await textAt(payments(id));
    for (const { id: paymentId, surplus } of both) {
      assert.ok(page.includes(`/${paymentId}/refund">${surplus ? 'Refund the second payment' : 'Refund'}<`));
      const form = textOf(await textAt(payments(`${paymentId}/refund`)));
      assert.equal(form.includes('This is a second payment'), surplus);
    }
    assert.deepEqual([both.length, both.filter(({ surplus }) => surplus).length], [2, 1]);
  });

  it('a decision about a discrepancy is rejected after more money than the form says has arrived', async () => {
    const { deps } = service.service;
    const id = await createSession(service);
    await startAt(service, id, 'card');
    const report = (amount: number) => reportPayment(deps, { sessionId: id, paymentId: null, status: 'paid', amount });
    await report(2000);
    const [discrepancy] = (await deps.store.checkout(id))!.discrepancies;
    const url = `${service.url}/dashboard/sandbox/discrepancies/${discrepancy!.id}`;
    const form = await textAt(url);
    assert.match(form, /Refund \$20\.00 to the buyer/);
    await report(3000);
    const stale = await submit(url, { ...hiddenFields(form), action: 'refund' });
    assert.equal(stale.status, 409);
    assert.match(textOf(await stale.text()), /has changed since it was read/);
    assert.equal((await deps.store.listRefunds({ sessionId: id }, { limit: 1 })).items.length, 0);
    const current = await textAt(url);
    assert.match(current, /Refund \$30\.00 to the buyer/);
    assert.equal((await submit(url, { ...hiddenFields(current), action: 'refund' })).status, 303);
  });

  it('a decision about an erased buyer has no field for a note, which is not stored', async () => {
    const { deps } = service.service;
    const { id, paymentId } = await paidSession({ customer: 'erased@example.com' });
    await reportPayment(deps, { sessionId: id, paymentId, status: 'paid', amount: 4999, currency: 'EUR' });
    const { session, discrepancies } = (await deps.store.checkout(id))!;
    const url = `${service.url}/dashboard/sandbox/discrepancies/${discrepancies[0]!.id}`;
    assert.match(await textAt(url), /Note \(required\)/);
    await gatewayOf(service).post(`customers/${session.customerId}/erase`, { confirm: session.customerId });
    const form = await textAt(url);
    assert.doesNotMatch(form, /name="note"/);
    assert.equal((await submit(url, { ...hiddenFields(form), action: 'accept' })).status, 303);
  });

  it('a rejected refund form changes nothing, and is shown again with the error and its fields', async () => {
    const { id, paymentId } = await paidSession();
    const url = payments(`${paymentId}/refund`);
    const fields: Record<string, string> = { ...hiddenFields(await textAt(url)), amount: '49.99' };
    for (const amount of ['abc', '0', '50', '1.234', '', '-1', HTML_INJECTION]) {
      const answer = await submit(url, { ...fields, amount, reason: 'duplicate' });
      const page = await answer.text();
      assert.equal(answer.status, 400, amount);
      assert.match(page, /role="alert">\s*<p>amount/);
      assert.ok(page.includes(`autocomplete="off" value="${escapeText(amount)}"`), amount);
      assert.match(page, /<option value="duplicate" selected/);
      assert.equal(hiddenFields(page)['key'], fields['key']);
      assert.ok(!page.includes('<img'), amount);
      // No message names an amount that the person did not type.
      assert.equal(page.includes('not 0'), amount === '0', amount);
    }
    const withoutKey = await submit(url, { ...fields, key: '' });
    assert.equal(withoutKey.status, 400);
    assert.equal((await submit(url, { ...fields, token: '' })).status, 403);
    assert.equal((await service.service.deps.store.listRefunds({ sessionId: id }, { limit: 1 })).items.length, 0);
    assert.equal((await submit(url, fields)).status, 303);
    assert.equal((await submit(url, fields)).status, 303);
    assert.equal((await fetch(url)).status, 409);
    assert.match(textOf(await textAt(payments(id))), /Requested a refund of \$49\.99\./);
    assert.equal((await service.service.deps.store.listRefunds({ sessionId: id }, { limit: 9 })).items.length, 1);
  });

  it('expires, blocks with a reason, unblocks, resolves and sends again, each with a notice', async () => {
    const { store } = service.service.deps;
    const id = await createSession(service, { customer: 'acting@example.com' });
    const act = async (path: string, fields: Record<string, string> = {}) => {
      const url = `${service.url}/dashboard/sandbox/${path}`;
      return submit(url, { ...hiddenFields(await textAt(url)), ...fields });
    };
    const { customerId } = (await store.session(id))!;
    const tooLong = await act(`payments/${id}/block`, { reason: 'x'.repeat(600) });
    assert.equal(tooLong.status, 400);
    assert.match(
      (await act(`payments/${id}/block`, { reason: 'chargebacks' })).headers.get('location')!,
      /notice=block$/,
    );
    assert.equal((await store.customer(customerId))!.statusReason, 'chargebacks');
    await act(`payments/${id}/unblock`);
    assert.equal((await store.customer(customerId))!.status, 'active');
    assert.match((await act(`payments/${id}/expire`)).headers.get('location')!, /notice=expire$/);
    assert.equal((await store.session(id))!.status, 'expired');

    const wrong = await createSession(service);
    await startAt(service, wrong, 'card');
    await reportPayment(service.service.deps, { sessionId: wrong, paymentId: null, status: 'paid', amount: 4000 });
    const [discrepancy] = (await store.checkout(wrong))!.discrepancies;
    assert.match(textOf(await textAt(payments(wrong))), /The provider reports \$40\.00 instead of \$49\.99/);
    const rejected = await act(`discrepancies/${discrepancy!.id}`, { action: 'destroy', note: 'kept text' });
    assert.equal(rejected.status, 400);
    assert.match(await rejected.text(), /<textarea[^>]*>kept text</);
    await act(`discrepancies/${discrepancy!.id}`, { action: 'accept', note: 'agreed' });
    assert.equal((await store.session(wrong))!.status, 'paid');
    const decided = `${service.url}/dashboard/sandbox/discrepancies/${discrepancy!.id}`;
    assert.equal((await fetch(decided)).status, 409);
    const token = hiddenFields(await textAt(payments(`${wrong}/block`)));
    assert.equal((await submit(decided, { ...token, action: 'accept' })).status, 409);

    // No endpoint exists, so the event has no receiver.
    const resent = await submit(payments(`${wrong}/resend`), hiddenFields(await textAt(payments(wrong))));
    assert.equal(resent.status, 409);
    assert.match(await resent.text(), /has no receiver/);
    await write(store, { type: 'endpoint_saved', endpoint: anEndpoint({ id: idOf('whe', 8) }) });
    const again = await submit(payments(`${wrong}/resend`), hiddenFields(await textAt(payments(wrong))));
    assert.match(again.headers.get('location')!, /notice=resend$/);
    const sent = await store.deliveriesOfSession(wrong);
    assert.deepEqual(
      sent.map(({ type }) => type),
      ['payment.provider_pending'],
    );

    const [delivery] = sent;
    const claimed = { ...delivery!, attempts: 1 };
    await write(store, { type: 'delivery_claimed', delivery: claimed });
    const answer = { statusCode: 500, failure: HTML_INJECTION, responseBody: HTML_INJECTION };
    const finished = { ...claimed, status: 'dead' as const };
    await write(store, { type: 'delivery_finished', delivery: finished, attempt: anAttemptOf(claimed, answer) });
    const page = await textAt(payments(wrong));
    assert.ok(page.includes('failed, <bdi>&lt;img'));
    assert.ok(!page.includes('<img'));
  });

  it('never treats text of buyers, merchants and providers as markup', async () => {
    const text = HTML_INJECTION;
    const id = await createSession(service, { product: text, metadata: { note: text }, clientReferenceId: text });
    await startAt(service, id, 'card');
    const failure = { code: 'declined', source: 'issuer', reason: text } as const;
    await reportPayment(service.service.deps, {
      sessionId: id,
      paymentId: null,
      status: 'failed',
      amount: 4999,
      failure,
    });
    for (const page of [id, `${id}/block`]) assert.ok(!(await textAt(payments(page))).includes('<img'), page);
    const page = await textAt(payments(id));
    for (const place of ['<dd><bdi>&lt;img', 'note</bdi>: <bdi>&lt;img', '<code><bdi>&lt;img', '&quot;reason&quot;']) {
      assert.ok(page.includes(place), place);
    }
    const wrong = await createSession(service, { customer: 'hostile@example.com' });
    await startAt(service, wrong, 'card');
    await reportPayment(service.service.deps, { sessionId: wrong, paymentId: null, status: 'paid', amount: 4000 });
    const [discrepancy] = (await service.service.deps.store.checkout(wrong))!.discrepancies;
    const resolving = `${service.url}/dashboard/sandbox/discrepancies/${discrepancy!.id}`;
    const note = { ...hiddenFields(await textAt(resolving)), note: text };
    const rejected = await (await submit(resolving, { ...note, action: 'destroy' })).text();
    assert.ok(rejected.includes('&lt;img') && !rejected.includes('<img'));
    assert.equal((await submit(resolving, { ...note, action: 'accept' })).status, 303);
    const blocking = payments(`${wrong}/block`);
    assert.equal((await submit(blocking, { ...hiddenFields(await textAt(blocking)), reason: text })).status, 303);
    const decided = await textAt(payments(wrong));
    assert.ok(decided.includes('(<bdi>&lt;img') && decided.includes('Blocked</span> <bdi>&lt;img'));
    assert.ok(!decided.includes('<img'));
    for (const notice of [encodeURIComponent(text), '__proto__', 'constructor']) {
      const noticed = await fetch(payments(`${id}?notice=${notice}`));
      assert.equal(noticed.status, 200, notice);
      assert.ok(!(await noticed.text()).includes('class="panel good"'), notice);
    }
  });
});

it('reads amounts exactly as a person types them', () => {
  const amounts = { '49.99': 4999, '$1,234.50': 123_450, ' 7 ': 700, '0.1': 10, '1.005': undefined, '1,23': undefined };
  for (const [text, cents] of Object.entries(amounts)) assert.equal(centsFromText(text), cents, text);
});
