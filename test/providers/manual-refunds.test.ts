// @run on=sqlite,postgres needs=process
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Hash, encodeFunctionData } from 'viem';
import type { Discrepancy, Refund } from '../../sdk/src/index.ts';
import { tokenAbi } from '../../examples/chain/local-chain.ts';
import type { Payment } from '../../src/domain/records.ts';
import { markRefundFailed, markRefundPaid } from '../../src/operations/refunds/confirm-refund.ts';
import type { Store } from '../../src/store/store.ts';
import { runIn } from '../cli/terminal.ts';
import { attempt, createSession } from '../simulator/buyer.ts';
import { type Chain, startChain } from '../support/chain.ts';
import { booksOf, gatewayOf, pick } from '../support/gateway.ts';
import { type RpcProxy, down, hide, startRpcProxy } from '../support/rpc-proxy.ts';
import { type TestService, call, startTestService } from '../support/service.ts';
import { assertSound } from '../support/sound.ts';
import { suiteService } from '../support/suite.ts';
import { usdcVariables } from '../support/usdc-service.ts';
import { CENT, paidTwice, poll, transferred } from './usdc-stage.ts';

const UNKNOWN_HASH = `0x${'12'.repeat(32)}`;

let chain: Chain;
let proxies: RpcProxy[];
/** Two instances on one database. */
let on: TestService;
let beside: TestService;
before(async () => {
  chain = await startChain();
  proxies = [await startRpcProxy(chain.url), await startRpcProxy(chain.url)];
  const variables = usdcVariables(
    chain.token,
    proxies.map(({ url }) => url),
  );
  on = await startTestService({ variables });
  beside = await startTestService({ variables, beside: on });
  await poll(on);
});
after(async () => {
  await assertSound(on.databaseUrl);
  assert.equal(await on.service.deps.store.ledgerTotal(), 0);
  for (const each of [beside, on, ...proxies, chain]) await each[Symbol.asyncDispose]();
});

const api = () => gatewayOf(on);
const refundOf = (payment: Pick<Payment, 'id'>, body?: object) =>
  api().post<Refund>(`payments/${payment.id}/refunds`, body);
const paid = (refund: Refund, txHash: string, via = on) =>
  call<Refund>('POST', `${via.url}/api/gateway/refunds/${refund.id}/paid`, { txHash });
const failed = (refund: Refund, reason: string) => api().post<Refund>(`refunds/${refund.id}/failed`, { reason });
const refused = (expected: string, refund: Refund, txHash: string) =>
  api().refused(expected, `POST refunds/${refund.id}/paid`, { txHash });
const statusesOf = (answers: { status: number }[]) => answers.map(({ status }) => status).toSorted((a, b) => a - b);
const stateOf = async ({ id }: Refund) => (await api().get<Refund>(`refunds/${id}`)).status;

/** Sends money to a buyer's wallet; the transfer is final. */
async function sent(cents: number, { to = chain.accounts[7]!, of = chain.token } = {}): Promise<Hash> {
  const hash = await chain.transfer(to, BigInt(cents) * CENT, of);
  await chain.finalize();
  return hash;
}

/** Runs `first` before the first call of `read`. */
function once(first: () => Promise<unknown>, read: Store['checkout']): Store['checkout'] {
  let ready: Promise<unknown> | undefined;
  return async (id) => {
    await (ready ??= first());
    return read(id);
  };
}

describe('a refund that an operator sends', () => {
  test('a refund waits until a final transaction proves it; books and event follow, and a repeated call returns the refund', async () => {
    const payment = await transferred(on, chain);
    const refund = await refundOf(payment, { amount: 20 });
    await on.pass(1000);
    assert.equal(await stateOf(refund), 'pending');
    assert.equal((await booksOf(on, payment.id))['buyer_refunds_payable'], -2000);

    const hash = await sent(2000);
    const { status, body } = await paid(refund, `0x${hash.slice(2).toUpperCase()}`);
    assert.deepEqual([status, body.status, body.failureReason], [200, 'succeeded', null]);
    assert.equal((await booksOf(on, payment.id))['buyer_refunds_payable'], undefined);
    const events = await on.service.deps.store.eventsOfSession(payment.sessionId);
    assert.deepEqual(events.filter(({ type }) => type === 'payment.refunded').length, 1);

    for (const via of [on, beside]) assert.deepEqual((await paid(refund, hash, via)).body, body);
    assert.deepEqual(await on.service.deps.store.eventsOfSession(payment.sessionId), events);
    const { message } = await refused('409 invalid_state', refund, await sent(2000));
    assert.match(message, new RegExp(hash));
  });

  test('a refund of all that is left makes the payment refunded', async () => {
    const payment = await transferred(on, chain);
    const refund = await refundOf(payment);
    await paid(refund, await sent(payment.fees.total + 5));
    const after = (await on.service.deps.store.payment(payment.id))!;
    assert.deepEqual([after.ledgerStatus, after.refunded], ['refunded', payment.fees.total]);
  });

  test('a transaction that does not pay the refund is rejected, and the refund stays pending', async () => {
    const payment = await transferred(on, chain);
    const refund = await refundOf(payment, { amount: 30 });
    const isRejected = async (hash: string, problem: RegExp) => {
      const { field, message } = await refused('400 invalid_input', refund, hash);
      assert.deepEqual([field, await stateOf(refund)], ['txHash', 'pending']);
      assert.match(message, problem);
    };
    await isRejected(await sent(2999), /less USDC than the refund/);
    await isRejected(await sent(3000, { to: payment.to }), /an address of this service/);
    await isRejected(await sent(3000, { of: chain.otherToken }), /less USDC than the refund/);
    await isRejected(UNKNOWN_HASH, /not a successful transaction/);
    for (const text of ['0x12', UNKNOWN_HASH.slice(2), `${UNKNOWN_HASH}0`, ''])
      await isRejected(text, /hash of a tran/);

    const whole = { abi: tokenAbi, functionName: 'transfer', args: [chain.accounts[7]!, 10n ** 30n] } as const;
    const [account, to, data] = [chain.accounts[3]!, chain.token, encodeFunctionData(whole)];
    const broken = await chain.client.sendTransaction({ chain: null, account, to, data, gas: 100_000n });
    await chain.finalize();
    assert.equal((await chain.client.getTransactionReceipt({ hash: broken })).status, 'reverted');
    await isRejected(broken, /not a successful transaction/);

    const fresh = await chain.transfer(chain.accounts[7]!, 3000n * CENT);
    await isRejected(fresh, /not final yet/);
    // The watcher has not polled since: the nodes are asked.
    await chain.finalize();
    assert.equal((await paid(refund, fresh)).body.status, 'succeeded');
  });

  test('a transaction with several transfers proves a refund if one of them pays it', async () => {
    const payment = await transferred(on, chain);
    const refund = await refundOf(payment, { amount: 7 });
    const hash = await chain.transferMany([
      [payment.to, 700n * CENT],
      [chain.accounts[8]!, 100n * CENT],
      [chain.accounts[9]!, 700n * CENT],
    ]);
    await chain.finalize();
    assert.equal((await paid(refund, hash)).body.status, 'succeeded');
    await poll(on);
  });

  test('a transaction proves one refund, also for simultaneous calls at two instances', async () => {
    const payments = [await transferred(on, chain), await transferred(on, chain)];
    const [first, second] = await Promise.all(payments.map((each) => refundOf(each, { amount: 4 })));
    const hash = await sent(400);
    const answers = await Promise.all(
      [first!, second!].flatMap((refund) => [on, beside].map((via) => paid(refund, hash, via))),
    );
    const states = await Promise.all([first!, second!].map(stateOf));
    assert.deepEqual(states.toSorted(), ['pending', 'succeeded']);
    assert.deepEqual(statusesOf(answers), [200, 200, 400, 400]);
    const [open] = states[0] === 'pending' ? [first!] : [second!];
    assert.match((await refused('400 invalid_input', open, hash)).message, /proved another refund/);
    assert.equal((await paid(open, await sent(400))).body.status, 'succeeded');
  });

  test('of two transactions that are named at the same time, one proves the refund, and the other can prove another refund', async () => {
    const payment = await transferred(on, chain);
    const [refund, later] = [await refundOf(payment, { amount: 5 }), await refundOf(payment, { amount: 5 })];
    const hashes = [await sent(500), await sent(500)];
    const answers = await Promise.all(hashes.map((hash, index) => paid(refund, hash, [on, beside][index])));
    assert.deepEqual(statusesOf(answers), [200, 409]);
    const unused = hashes[answers.findIndex(({ status }) => status === 409)]!;
    assert.equal((await paid(later, unused)).body.status, 'succeeded');
  });

  test('while nodes disagree or are down, a refund cannot be confirmed, and nothing changes', async () => {
    const refund = await refundOf(await transferred(on, chain), { amount: 6 });
    const hash = await sent(600);
    for (const fault of [hide(), down('closing')]) {
      await proxies[1]!.setFault(fault);
      const { suggestion } = await refused('503 unavailable', refund, hash);
      assert.notEqual(suggestion, '');
      assert.equal(await stateOf(refund), 'pending');
      await proxies[1]!.setFault();
      // The client of a node pauses after a failure.
      on.clock.advance(2000);
    }
    assert.equal((await paid(refund, hash)).body.status, 'succeeded');
  });

  test('a failed refund has the reason of the operator, and its amount can be refunded again', async () => {
    const payment = await transferred(on, chain);
    const refund = await refundOf(payment);
    const { status, failureReason } = await failed(refund, 'the buyer\nnames no address');
    assert.deepEqual([status, failureReason], ['failed', 'the buyer names no address']);
    assert.deepEqual(await failed(refund, 'the buyer names no address'), await api().get(`refunds/${refund.id}`));
    await api().refused('409 invalid_state', `POST refunds/${refund.id}/failed`, { reason: 'another' });
    await api().refused('400 invalid_input', `POST refunds/${refund.id}/failed`, { reason: '\u200B' });
    const hash = await sent(payment.fees.total);
    assert.match((await refused('409 invalid_state', refund, hash)).message, /names no address/);

    const again = await refundOf(payment);
    assert.equal((await paid(again, hash)).body.status, 'succeeded');
    await api().refused('409 invalid_state', `POST refunds/${again.id}/failed`, { reason: 'too late' });
    assert.equal(await stateOf(again), 'succeeded');
  });

  test('of opposite answers at the same time, the first one counts, and a transaction that did not count can prove another refund', async () => {
    const payment = await transferred(on, chain);
    const { deps } = on.service;
    /** Dependencies of a call that reads the session only after another call has answered the refund. */
    const overtakenBy = (answer: () => Promise<unknown>) => {
      const checkout = once(answer, deps.store.checkout);
      return { ...deps, store: { ...deps.store, checkout } };
    };
    const [one, two] = [await refundOf(payment, { amount: 1 }), await refundOf(payment, { amount: 1 })];
    const [hash, unused] = [await sent(100), await sent(100)];

    const late = overtakenBy(() => paid(one, hash, beside));
    await assert.rejects(markRefundFailed(late, one.id, 'not sent'), { code: 'invalid_state' });
    assert.equal(await stateOf(one), 'succeeded');

    const overtaken = overtakenBy(() => failed(two, 'not sent'));
    await assert.rejects(markRefundPaid(overtaken, two.id, unused), { code: 'invalid_state' });
    assert.equal(await stateOf(two), 'failed');
    assert.equal((await paid(await refundOf(payment, { amount: 1 }), unused)).body.status, 'succeeded');
  });

  test('`tillway refunds paid` and `failed` confirm a refund', async () => {
    const payment = await transferred(on, chain);
    const [one, two] = [await refundOf(payment, { amount: 2 }), await refundOf(payment, { amount: 3 })];
    const shown = await runIn(on, `refunds paid ${one.id} --tx ${await sent(200)} --json`);
    assert.deepEqual([shown.code, (JSON.parse(shown.stdout) as Refund).status], [0, 'succeeded']);
    assert.equal((await runIn(on, `refunds failed ${two.id} --reason`, 'no address')).code, 0);
    assert.deepEqual(pick(await api().list<Refund>(`refunds?paymentId=${payment.id}`), 'status', 'failureReason'), [
      ['failed', 'no address'],
      ['succeeded', null],
    ]);
    const { code, stderr } = await runIn(on, `refunds paid ${two.id} --tx ${UNKNOWN_HASH}`);
    assert.equal(code, 1);
    assert.match(stderr, /has failed: no address/);
  });
});

describe('money that is owed to the buyer', () => {
  const discrepancyOf = async ({ sessionId }: Payment) =>
    (await api().list<Discrepancy>(`discrepancies?sessionId=${sessionId}`))[0]!;

  test('the second payment of a session is listed with its refund, and resolved once an operator has sent it', async () => {
    const payments = await paidTwice(on, chain);
    const surplus = payments.find((each) => each.surplus)!;
    const { kind, status, refundId, actions } = await discrepancyOf(surplus);
    assert.deepEqual([kind, status, actions], ['surplus', 'open', []]);
    const refund = await api().get<Refund>(`refunds/${refundId}`);
    await on.pass(1000);
    assert.deepEqual([refund.reason, await stateOf(refund)], ['surplus', 'pending']);
    await paid(refund, await sent(surplus.fees.total));
    assert.partialDeepStrictEqual(await discrepancyOf(surplus), { status: 'resolved', resolution: 'refunded' });
  });

  test('a wrong amount is refunded by hand, again after a failure', async () => {
    const payment = await transferred(on, chain, (due) => due - 500);
    const { id } = await discrepancyOf(payment);
    const resolve = () => api().post<Discrepancy>(`discrepancies/${id}/resolve`, { action: 'refund' });
    const first = await api().get<Refund>(`refunds/${(await resolve()).refundId}`);
    await failed(first, 'the wallet was empty');
    assert.partialDeepStrictEqual(await discrepancyOf(payment), { status: 'open', actions: ['refund', 'accept'] });
    const second = await api().get<Refund>(`refunds/${(await resolve()).refundId}`);
    await refused('400 invalid_input', second, await sent(payment.fees.total - 501));
    await paid(second, await sent(payment.fees.total - 500));
    assert.partialDeepStrictEqual(await discrepancyOf(payment), { status: 'resolved', resolution: 'refunded' });
  });
});

describe('a refund that a provider sends', () => {
  const simulated = suiteService();

  test('an operator cannot answer for the provider', async () => {
    const session = await createSession(simulated);
    await attempt(simulated, session, 'card', 'paid');
    await simulated.pass(0);
    const { post, refused } = gatewayOf(simulated);
    const refund = await post<Refund>(`payments/${session}/refunds`);
    await refused('409 invalid_state', `POST refunds/${refund.id}/paid`, { txHash: UNKNOWN_HASH });
    await refused('409 invalid_state', `POST refunds/${refund.id}/failed`, { reason: 'no' });
    await refused('404 not_found', 'POST refunds/ref_x/paid', { txHash: UNKNOWN_HASH });
    await simulated.pass(1000);
    assert.partialDeepStrictEqual(await gatewayOf(simulated).get(`refunds/${refund.id}`), { status: 'succeeded' });
  });
});
