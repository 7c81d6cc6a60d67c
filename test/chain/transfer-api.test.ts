// @run on=sqlite,postgres needs=process
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type { Address } from 'viem';
import { callTool } from '../mcp/rpc.ts';
import { call, sessionBody } from '../support/service.ts';
import { startUsdcService } from '../support/usdc-service.ts';

interface Transfer {
  network: string;
  chainId: number;
  token: Address;
  address: Address;
  units: string;
  missing: string;
  received: string;
  amount: number;
  expiresAt: string;
}

/** A status document of a checkout. */
interface Status {
  status: string;
  transfer: Transfer | null;
  methods?: { kind: string; total: number; form: string }[];
}

const usdc = await startUsdcService();
const { on, chain } = usdc;
after(() => usdc[Symbol.asyncDispose]());

async function created(): Promise<{ id: string; checkoutUrl: string }> {
  return (await call<{ id: string; checkoutUrl: string }>('POST', `${on.url}/api/gateway/sessions`, sessionBody()))
    .body;
}

function choose(checkoutUrl: string, form: string) {
  const headers = { accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded' };
  return fetch(`${checkoutUrl}/pay`, { method: 'POST', body: form, headers });
}

const statusOf = async (checkoutUrl: string) => (await (await fetch(`${checkoutUrl}/status`)).json()) as Status;

describe('a program with a wallet', () => {
  test('it chooses the wallet, reads where to pay, and pays without a browser', async () => {
    const { id, checkoutUrl } = await created();
    const before = await statusOf(checkoutUrl);
    assert.equal(before.transfer, null);
    const { form, total } = before.methods!.find(({ kind }) => kind === 'wallet')!;
    const answer = await choose(checkoutUrl, form);
    assert.equal(answer.status, 200);
    const { transfer } = (await answer.json()) as Status;
    assert.deepEqual(
      [transfer!.network, transfer!.chainId, transfer!.token, transfer!.amount, transfer!.missing],
      ['local', 31_337, chain.token, total, String(total * 1_000_000)],
    );
    await chain.transfer(transfer!.address, BigInt(transfer!.missing));
    await usdc.poll();
    assert.deepEqual((await statusOf(checkoutUrl)).transfer?.received, transfer!.units);
    await chain.finalize();
    await usdc.poll();
    const { body } = await call<Status>('GET', `${on.url}/api/gateway/sessions/${id}`);
    assert.deepEqual([body.status, body.transfer], ['paid', null]);
  });

  test('the session and the tool that reads it carry the same transfer as the status of the checkout', async () => {
    const { id, checkoutUrl } = await created();
    await choose(checkoutUrl, (await statusOf(checkoutUrl)).methods!.find(({ kind }) => kind === 'wallet')!.form);
    const { transfer } = await statusOf(checkoutUrl);
    const { timeoutAt } = await usdc.payment(id);
    assert.equal(transfer!.expiresAt, new Date(timeoutAt).toISOString());
    const { body } = await call<Status>('GET', `${on.url}/api/gateway/sessions/${id}`);
    assert.deepEqual(body.transfer, transfer);
    const { structuredContent } = await callTool(on.url, 'session_get', { sessionId: id });
    assert.deepEqual(structuredContent.result!['transfer'], transfer);
  });

  test('a second choice continues the same transfer', async () => {
    const { id, checkoutUrl } = await created();
    const { form } = (await statusOf(checkoutUrl)).methods!.find(({ kind }) => kind === 'wallet')!;
    const answers = await Promise.all([choose(checkoutUrl, form), choose(checkoutUrl, form)]);
    const addresses = await Promise.all(answers.map(async (one) => ((await one.json()) as Status).transfer?.address));
    const { address } = await usdc.instructions(id);
    assert.ok(addresses.every((shown) => shown === undefined || shown === address));
    assert.equal((await statusOf(checkoutUrl)).transfer?.address, address);
  });

  test('a repeated request to create the session returns its transfer, and lists omit it', async () => {
    const body = sessionBody({ idempotencyKey: 'a-transfer-after-the-first-request' });
    const create = () => call<Status & { id: string }>('POST', `${on.url}/api/gateway/sessions`, body);
    const first = await create();
    const { id } = first.body;
    assert.equal(first.body.transfer, null);
    await choose(`${on.url}/checkout/${id}`, 'kind=wallet&total_wallet=4999');
    await usdc.send(id, 1000);
    await usdc.poll();
    const { body: session } = await call<Status>('GET', `${on.url}/api/gateway/sessions/${id}`);
    assert.deepEqual([session.transfer!.received, session.transfer!.missing], ['10000000', '39990000']);
    const actions = `${on.url}/api/agent/actions`;
    const action = await call<{ result: Status }>('POST', `${actions}/checkout.create`, body);
    assert.deepEqual([(await create()).body.transfer, action.body.result.transfer], Array(2).fill(session.transfer));
    const { body: list } = await call<{ data: { id: string }[] }>('GET', `${on.url}/api/gateway/sessions`);
    assert.equal('transfer' in list.data.find((one) => one.id === id)!, false);
  });

  test('a payment that cannot start gets a JSON error, and a browser gets the page', async () => {
    const { id, checkoutUrl } = await created();
    const refused = async (form: string, url = checkoutUrl) => {
      const answer = await choose(url, form);
      const { ok, error } = (await answer.json()) as { ok: boolean; error: { code: string } };
      assert.equal(ok, false);
      return `${answer.status} ${error.code}`;
    };
    const form = 'kind=wallet&total_wallet=4999';
    assert.equal(await refused('kind=cash'), '400 invalid_input');
    assert.equal(await refused('kind=wallet&total_wallet=1'), '409 invalid_state');
    assert.equal(await refused('kind=card&total_card=4999'), '409 no_eligible_route');
    assert.equal(await refused(form, checkoutUrl.replace(/.{8}$/, '00000000')), '404 not_found');
    const { body: session } = await call<{ customerId: string }>('GET', `${on.url}/api/gateway/sessions/${id}`);
    const customer = `${on.url}/api/gateway/customers/${session.customerId}`;
    await call('POST', `${customer}/block`);
    assert.equal(await refused(form), '403 forbidden');
    assert.equal((await statusOf(checkoutUrl)).methods, undefined);
    await call('POST', `${customer}/unblock`);
    const headers = { accept: 'text/html,*/*;q=0.8' };
    const sent = { method: 'POST', headers, body: new URLSearchParams(form), redirect: 'manual' } as const;
    assert.equal((await fetch(`${checkoutUrl}/pay`, sent)).status, 303);
  });
});
