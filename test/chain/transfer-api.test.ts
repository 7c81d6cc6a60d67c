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

  test('a second choice continues the same transfer, and a total that the page did not show is refused as JSON', async () => {
    const { id, checkoutUrl } = await created();
    const { form } = (await statusOf(checkoutUrl)).methods!.find(({ kind }) => kind === 'wallet')!;
    const refused = await choose(checkoutUrl, 'kind=wallet&total_wallet=1');
    assert.equal(refused.status, 409);
    assert.equal(((await refused.json()) as { error: { code: string } }).error.code, 'invalid_state');
    const answers = await Promise.all([choose(checkoutUrl, form), choose(checkoutUrl, form)]);
    const addresses = await Promise.all(answers.map(async (one) => ((await one.json()) as Status).transfer?.address));
    const { address } = await usdc.instructions(id);
    assert.ok(addresses.every((shown) => shown === undefined || shown === address));
    assert.equal((await statusOf(checkoutUrl)).transfer?.address, address);
  });

  test('a choice that is not one of the checkout gets a JSON error', async () => {
    const { checkoutUrl } = await created();
    const answer = await choose(checkoutUrl, 'kind=cash');
    assert.equal(answer.status, 400);
    assert.equal(((await answer.json()) as { error: { code: string } }).error.code, 'invalid_input');
  });
});
