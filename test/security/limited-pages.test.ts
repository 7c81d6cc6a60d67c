import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { STATUS_POLLS_PER_PAGE } from '../../src/http/rate-limits.ts';
import { call, sessionBody } from '../support/service.ts';
import { suiteService } from '../support/suite.ts';

const PAGES = 4;

const tillway = suiteService({ variables: { PAGE_RATE_LIMIT: String(PAGES), PAYMENT_RATE_LIMIT: '2' } }, async () => {
  ({ id } = (await call<{ id: string }>('POST', `${tillway.url}/api/gateway/sessions`, sessionBody())).body);
});
let id = '';

async function ask(path: string, method = 'GET'): Promise<{ status: number; text: string }> {
  const form = { headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: 'kind=nothing' };
  const response = await fetch(tillway.url + path, { method, redirect: 'manual', ...(method === 'POST' && form) });
  return { status: response.status, text: await response.text() };
}

/** Sends the request `times` times; returns the last response. */
async function sendRepeatedly(times: number, path: string, method?: string): Promise<{ status: number; text: string }> {
  let answer = { status: 0, text: '' };
  for (let index = 0; index < times; index++) answer = await ask(path, method);
  return answer;
}

describe('a buyer whose address has used up PAGE_RATE_LIMIT', () => {
  it('a buyer above PAGE_RATE_LIMIT gets a page that explains how to check the payment, without a claim about charges', async () => {
    const { status, text } = await sendRepeatedly(PAGES + 1, `/checkout/${id}`);
    assert.equal(status, 429);
    assert.match(text, /If you were paying, open the checkout again to see the state of the payment/);
    assert.doesNotMatch(text, /not been charged/);
  });

  it('a buyer above PAGE_RATE_LIMIT can still poll the payment status of an open page, which has its own limit', async () => {
    assert.equal((await ask(`/checkout/${id}`)).status, 429);
    assert.equal((await sendRepeatedly(PAGES * STATUS_POLLS_PER_PAGE, `/checkout/${id}/status`)).status, 200);
    assert.equal((await ask(`/checkout/${id}/status`)).status, 429);
  });

  it('a buyer above PAYMENT_RATE_LIMIT gets a page saying that this attempt started no payment', async () => {
    tillway.clock.advance(60_000);
    const { status, text } = await sendRepeatedly(3, `/checkout/${id}/pay`, 'POST');
    assert.equal(status, 429);
    assert.match(text, /Nothing was started by this one\. If you tried before, open the checkout again/);
    assert.doesNotMatch(text, /not been charged/);
  });
});
