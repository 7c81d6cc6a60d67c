// @run needs=process
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { startServer } from '../support/http-server.ts';
import { call, sessionBody } from '../support/service.ts';
import { createServiceDatabase } from '../support/database.ts';
import { type RunningService, startServiceProgram } from './program.ts';
import { until } from '../support/until.ts';

const EMAIL = 'Zaphod.Quux@mailbox.example';
const CARD = '4111111111111111';
const SPACED_CARD = '4111 1111 1111 1111';
const SECRET = `whsec_${Buffer.from('a secret that stands in no log..').toString('base64')}`;
const API_KEY = 'sk_live_5e1f0a9c7d';

/** Patterns that no log may contain. */
const HIDDEN: Record<string, RegExp> = {
  'an email address': /zaphod\.quux(?:(?:\+|%2b)handoff_error)?(?:@|%40)mailbox/i,
  'a card number': /4111(?:[ +-]|%20)?1111(?:[ +-]|%20)?1111(?:[ +-]|%20)?1111/,
  'the webhook secret': new RegExp(SECRET.slice('whsec_'.length, -2)),
  'an API key': new RegExp(API_KEY),
};

describe('the log at the level trace', () => {
  it('the patterns of this test match every form of the secrets', () => {
    for (const line of [EMAIL, encodeURIComponent(EMAIL), CARD, SPACED_CARD, SECRET, `"Bearer ${API_KEY}"`]) {
      assert.equal(leaksIn(`{"level":30}\n{"msg":"${line}"}\n`).length, 1, line);
    }
    assert.deepEqual(leaksIn('{"level":30,"msg":"request"}\n'), []);
  });

  it('the log at the level trace contains no secret, no full email address and no card number', async () => {
    await using database = await createServiceDatabase();
    await using receiver = await startReceiver();
    await using service = await startServiceProgram({
      DATABASE_URL: database.url,
      LOG_LEVEL: 'trace',
      SHUTDOWN_DELAY: '0',
      WEBHOOK_URL: receiver.url,
      WEBHOOK_SECRET: SECRET,
    });
    await useTheApi(service);
    await sendInvalidRequests(service);
    await pay(service);
    await until(() => receiver.types.includes('payment.paid'));
    service.signal('SIGTERM');
    assert.equal(await service.exited, 0);

    const logged = service.stdout() + service.stderr();
    const lines = logged.split('\n').length;
    assert.ok(lines > 30, `only ${lines} lines were logged`);
    assert.deepEqual(leaksIn(logged), []);
  });
});

/** The lines that match a hidden pattern, each with the name of the pattern. */
function leaksIn(logged: string): string[] {
  return logged.split('\n').flatMap((line) =>
    Object.entries(HIDDEN)
      .filter(([, pattern]) => pattern.test(line))
      .map(([name]) => `${name}: ${line}`),
  );
}

async function useTheApi({ url }: RunningService): Promise<void> {
  const gateway = `${url}/api/gateway`;
  const keyed = sessionBody({ customer: EMAIL, idempotencyKey: 'order-logs-1' });
  const headers = { authorization: `Bearer ${API_KEY}`, cookie: `session=${API_KEY}` };
  assert.equal((await call('POST', `${gateway}/sessions`, keyed, headers)).status, 200);
  assert.equal((await call('POST', `${gateway}/sessions`, { ...keyed, amount: 1 })).status, 422);
  for (const query of [`customers?email=${EMAIL}`, `sessions?customer=${encodeURIComponent(EMAIL)}`]) {
    const { body } = await call<{ data: unknown[] }>('GET', `${gateway}/${query}`);
    assert.equal(body.data.length, 1, query);
  }
  for (const action of ['checkout.preview', 'checkout.create']) {
    assert.equal(
      (await call('POST', `${url}/api/agent/actions/${action}`, sessionBody({ customer: EMAIL }))).status,
      200,
    );
  }
}

async function sendInvalidRequests({ url }: RunningService): Promise<void> {
  const sessions = '/api/gateway/sessions';
  const send = async (method: string, path: string, body?: string | object, headers?: Record<string, string>) => {
    const type = { 'content-type': 'application/json', ...headers };
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const answer = await fetch(url + path, { method, headers: type, ...(text !== undefined && { body: text }) });
    assert.ok(answer.status >= 400 && answer.status < 500, `${method} ${path}: ${answer.status}`);
    await answer.arrayBuffer();
  };
  await send('POST', sessions, `{"customer":"${EMAIL}","product":`);
  await send('POST', sessions, sessionBody({ customer: `${EMAIL} `, product: '', [EMAIL]: CARD }));
  await send('POST', sessions, sessionBody({ preferredRoute: EMAIL, environment: CARD }));
  await send('POST', sessions, sessionBody({ customer: EMAIL }), { 'content-type': EMAIL });
  await send('GET', `/api/gateway/customers?limit=${EMAIL}&status=${CARD}`);
  // Paths with an email address or card number in place of an id, and an unknown path.
  await send('GET', `/api/gateway/customers/${EMAIL}`);
  await send('GET', `/api/gateway/customers/${encodeURIComponent(EMAIL)}`);
  await send('GET', `/api/gateway/payments/${CARD}`);
  await send('GET', `/${EMAIL}/${encodeURIComponent(SPACED_CARD)}`);
  await send('POST', `/api/agent/actions/${EMAIL}`, {});
  await send('POST', `/api/providers/sandbox/callbacks`, { email: EMAIL, card: CARD, secret: SECRET });
  for (const bytes of [`${EMAIL} ${CARD}\r\n\r\n`, `POST / HTTP/1.1\r\nhost: x\r\n${EMAIL}\r\n\r\n`]) {
    const socket = connect(Number(new URL(url).port), '127.0.0.1', () => socket.write(bytes));
    await once(socket.resume(), 'close');
  }
}

/** Pays as a buyer who first enters a real card number and then a test card. The provider refuses the first handoff. */
async function pay({ url }: RunningService): Promise<void> {
  const customer = EMAIL.replace('@', '+handoff_error@');
  const created = await call<{ id: string }>('POST', `${url}/api/gateway/sessions`, sessionBody({ customer }));
  const checkout = `${url}/checkout/${created.body.id}`;
  await submit(`${checkout}/pay`, { kind: 'card', total_card: '99999999' });
  const page = await (await fetch(`${checkout}/continue`)).text();
  const form = /http:[^"]+\/simulator\/pay\/[^"]+/.exec(page)![0];
  const card = { expiry: '12 / 34', cvc: '123', name: 'Test Buyer' };
  for (const number of [CARD, SPACED_CARD]) assert.equal(await submit(form, { ...card, number }), 400);
  assert.equal(await submit(form, { ...card, number: '4242424242424242', cvc: CARD, name: CARD }), 400);
  await (await fetch(`${form}?number=${CARD}&use=${EMAIL}`)).text();
  assert.equal(await submit(form, { ...card, number: '4242424242424242' }), 303);
}

async function submit(url: string, fields: Record<string, string>): Promise<number> {
  const answer = await fetch(url, { method: 'POST', redirect: 'manual', body: new URLSearchParams(fields) });
  await answer.arrayBuffer();
  return answer.status;
}

interface Receiver extends AsyncDisposable {
  url: string;
  /** Types of the acknowledged events. */
  types: string[];
}

/** A webhook receiver that fails the first delivery and returns each request body in its response. */
async function startReceiver(): Promise<Receiver> {
  const types: string[] = [];
  let deliveries = 0;
  const server = await startServer(async (request, response) => {
    const body = await text(request);
    const accepted = ++deliveries > 1;
    if (accepted) types.push((JSON.parse(body) as { type: string }).type);
    response.writeHead(accepted ? 200 : 500).end(`${EMAIL} ${CARD} ${SECRET} ${body}`);
  });
  return { ...server, url: `${server.url}/hooks?key=${API_KEY}`, types };
}
