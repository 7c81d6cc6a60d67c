import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { ROUTE_KINDS } from '../../src/domain/route.ts';
import { HANDOFF_TAGS, INSTRUMENTS, spacedCard } from '../../src/simulator/test-instruments.ts';
import { REFUND_SCRIPTS } from '../../src/simulator/simulated-refunds.ts';
import { contentsOf } from '../support/database.ts';
import { startTestService } from '../support/service.ts';
import { attempt, createSession, startAt, stateOf, submit } from './buyer.ts';

const on = await startTestService();
after(() => on[Symbol.asyncDispose]());

const CARD = { number: '4242 4242 4242 4242', expiry: '12/34', cvc: '123', name: 'Test Buyer' };

test('every page of the simulator states that it is a simulation, and contains no script', async () => {
  const pages = [`${on.url}/simulator`, `${on.url}/simulator/pay/unknown`];
  for (const kind of ROUTE_KINDS) pages.push(await startAt(on, await createSession(on), kind));
  pages.push(await attempt(on, await createSession(on), 'wallet', 'paid'));
  for (const page of pages) {
    const response = await fetch(page);
    const text = await response.text();
    assert.match(text, /Simulation: no money moves/);
    assert.match(text, /<html lang="en">/);
    assert.doesNotMatch(text, /<script|style=|onclick=/);
    assert.match(response.headers.get('content-security-policy') ?? '', /default-src 'none'/);
  }
  assert.equal((await fetch(pages[1]!)).status, 404);
});

test('the page /simulator lists all test outcomes without authentication', async () => {
  const text = await (await fetch(`${on.url}/simulator`)).text();
  for (const { label, outcome, cardNumber } of INSTRUMENTS) {
    assert(text.includes(`<h2>${label}</h2>`), label);
    assert(text.includes(outcome), outcome);
    assert(text.includes(spacedCard(cardNumber)), cardNumber);
  }
  for (const { tag } of HANDOFF_TAGS) assert(text.includes(`buyer+${tag}`), tag);
});

test('docs/testing.md lists exactly the existing test outcomes', () => {
  const page = readFileSync(new URL('../../docs/testing.md', import.meta.url), 'utf8');
  const lines = page.split('\n').map((line) => line.replace(/ +\|/g, ' |'));
  const rows = lines.filter((line) => line.startsWith('| ') && line.includes('`'));
  assert.deepEqual(rows, [
    '| Outcome | Card number | `outcome` | Effect |',
    ...INSTRUMENTS.map(
      ({ id, label, outcome, cardNumber }) => `| ${label} | \`${spacedCard(cardNumber)}\` | \`${id}\` | ${outcome} |`,
    ),
    '| Failure | `customer` | Effect |',
    ...HANDOFF_TAGS.map(({ tag, label, outcome }) => `| ${label} | \`buyer+${tag}@example.com\` | ${outcome} |`),
    ...REFUND_SCRIPTS.map(({ cents, outcome }) => `| \`x.0${cents}\` | ${outcome} |`),
  ]);
});

test('a card number that is not a test number is rejected and neither stored nor logged', async () => {
  // Valid numbers of real card networks that belong to no account, and one number with a wrong check digit.
  for (const number of ['4111111111111111', '5555 5555 5555 4444', '3782-822463-10005', '4242424242424241']) {
    const sessionId = await createSession(on);
    const page = await startAt(on, sessionId, 'card');
    const response = await submit(page, { ...CARD, number, name: number });
    assert.equal(response.status, 400);
    const text = await response.text();
    assert.match(text, /not one of the test card numbers/);
    assert.match(text, /id="number"[^>]*aria-describedby="number-problem number-hint"[^>]*aria-invalid="true"/);
    await submit(page, { ...CARD, cvc: 'x', name: number });
    await on.pass(0);
    assert.partialDeepStrictEqual(await stateOf(on, sessionId), { session: 'pending', simulated: ['open'] });

    const digits = number.replace(/\D/g, '');
    const database = await contentsOf(on.databaseUrl);
    assert.ok(database.includes(sessionId));
    for (const [where, stored] of Object.entries({ page: text, log: on.logged.join('\n'), database })) {
      assert(!stored.includes(number) && !stored.includes(digits), where);
    }
  }
});

test('the payment page shows a message for each invalid field', async () => {
  const page = await startAt(on, await createSession(on), 'card');
  const problems: [Record<string, string>, RegExp][] = [
    [{ number: '' }, /not one of the test card numbers/],
    [{ expiry: '13/34' }, /Enter a month and a year/],
    [{ expiry: '02/26' }, /Enter a month and a year to come/],
    [{ cvc: '12' }, /3 or 4 digits/],
    [{ name: ' ' }, /Enter any name/],
  ];
  for (const [fields, problem] of problems) {
    const response = await submit(page, { ...CARD, ...fields });
    assert.equal(response.status, 400);
    const text = await response.text();
    assert.match(text, problem);
    assert.match(text, /<title>Error: /);
    assert.doesNotMatch(text, /value="123"/);
  }
  // A card is valid until the end of its month.
  assert.equal((await submit(page, { ...CARD, expiry: '03 / 2026' })).status, 303);
});

for (const kind of ROUTE_KINDS) {
  test(`a cancelled ${kind} payment returns the buyer to the checkout, where a second attempt can pay`, async () => {
    const sessionId = await createSession(on);
    const page = await startAt(on, sessionId, kind);
    const response = await submit(`${page}/cancel`, {});
    assert.equal(response.status, 303);
    assert.equal(response.headers.get('location'), `${on.url}/checkout/${sessionId}`);
    await on.pass(0);
    const state = await stateOf(on, sessionId);
    assert.equal(state.session, 'pending');
    assert.deepEqual(state.payments, ['failed']);
    assert.match(await (await fetch(page)).text(), /Payment cancelled[^]*href="[^"]*\/checkout\//);

    // The cancelled payment cannot be paid any more.
    assert.equal((await submit(page, { ...CARD, outcome: 'paid' })).status, 303);
    await on.pass(1);
    assert.deepEqual((await stateOf(on, sessionId)).simulated, ['cancelled']);
    await attempt(on, sessionId, kind, 'paid');
    await on.pass(0);
    assert.equal((await stateOf(on, sessionId)).session, 'paid');
  });
}

test('five concurrent submissions of a payment form pay once', async () => {
  const sessionId = await createSession(on);
  const page = await startAt(on, sessionId, 'card');
  const clicks = await Promise.all(Array.from({ length: 5 }, () => submit(page, CARD)));
  assert.deepEqual(
    clicks.map(({ status }) => status),
    [303, 303, 303, 303, 303],
  );
  await on.pass(0);
  assert.deepEqual((await stateOf(on, sessionId)).messages, ['applied']);
});

test('the payment page returns the buyer by a meta refresh if the checkout is on another origin', async () => {
  await using other = await startTestService({
    variables: { CHECKOUT_URL: 'https://pay.example', ALLOW_UNAUTHENTICATED: 'true' },
  });
  const sessionId = await createSession(other);
  const page = await startAt(other, sessionId, 'wallet');
  const response = await submit(`${other.url}${new URL(page).pathname}`, { outcome: 'paid' });
  assert.equal(response.status, 200);
  const text = await response.text();
  assert(text.includes(`<meta http-equiv="refresh" content="0;url=https://pay.example/checkout/${sessionId}" />`));
  assert(text.includes(`href="https://pay.example/checkout/${sessionId}"`));
});
