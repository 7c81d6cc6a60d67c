import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { describe, test } from 'node:test';
import { setImmediate as immediate } from 'node:timers/promises';
import { Tillway, TillwayConnectionError, type TillwayError } from '../../sdk/src/index.ts';
import { SessionsResource } from '../../sdk/src/generated/resources.ts';
import { type Timing } from '../../sdk/src/timing.ts';
import { type Call, type TillwayOptions, createTransport } from '../../sdk/src/transport.ts';
import { type Scripted, errorOf, scriptedFetch } from './recorder.ts';

const READ: Call<unknown> = { method: 'GET', path: '/x', repeatable: true, read: (body) => body };
const WRITE: Call<unknown> = { method: 'POST', path: '/x', repeatable: false, read: (body) => body };
const NOW = Date.parse('2026-03-01T12:00:00.000Z');
const REFUSED = { code: 'unavailable', message: 'The service is stopping.' };

function errorResponse(status: number, headers: Record<string, string> = {}): Scripted {
  return { status, headers, body: { ok: false, error: REFUSED } };
}

/** A transport that records its waits instead of waiting. */
function scriptedTransport(script: Scripted[], options: TillwayOptions = {}, random = 1) {
  const slept: number[] = [];
  const timing: Timing = {
    sleep: async (ms) => void slept.push(ms),
    random: () => random,
    now: () => NOW,
    uuid: () => '11111111-2222-4333-8444-555555555555',
  };
  const { fetch, sent } = scriptedFetch(...script);
  return { transport: createTransport({ ...options, fetch }, timing), sent, slept };
}

describe('the transport', () => {
  const failures: Record<string, Scripted> = {
    'a lost connection': { error: new TypeError('fetch failed') },
    '429': errorResponse(429),
    '500': errorResponse(500),
    '502 of a proxy': { status: 502, body: '<html>Bad gateway</html>', headers: { 'content-type': 'text/html' } },
    '503': errorResponse(503),
    '504': errorResponse(504),
  };

  for (const [name, failure] of Object.entries(failures)) {
    test(`the SDK retries a request after ${name}, up to maxRetries times${name === '429' ? '' : ' and only if a repetition has no further effect'}`, async () => {
      const { transport, sent, slept } = scriptedTransport([failure, failure, { body: { a: 1 } }]);
      const { data, response } = await transport.send(READ);
      assert.deepEqual([data, response.attempts, sent.length, slept], [{ a: 1 }, 3, 3, [500, 1000]]);

      const failing = scriptedTransport([failure], { maxRetries: 1 });
      await errorOf(failing.transport.send(READ));
      assert.equal(failing.sent.length, 2);
      await errorOf(failing.transport.send({ ...READ, options: { maxRetries: 0 } }));
      assert.equal(failing.sent.length, 3);
      await errorOf(failing.transport.send(WRITE));
      assert.equal(failing.sent.length, name === '429' ? 5 : 4);
    });
  }

  test('the transport of the SDK does not retry a request after other statuses', async () => {
    for (const status of [400, 401, 403, 404, 409, 413, 415, 422, 501]) {
      const { transport, sent } = scriptedTransport([errorResponse(status)]);
      assert.equal((await errorOf(transport.send(READ))).status, status);
      assert.equal(sent.length, 1);
    }
  });

  test('the transport of the SDK retries a request with the same idempotency key', async () => {
    const { transport, sent } = scriptedTransport([errorResponse(503), { body: { object: 'checkout_session' } }]);
    await new SessionsResource(transport).create({ product: 'Field guide', amount: 1, customer: 'a@example.com' });
    assert.equal(sent.length, 2);
    assert.deepEqual(sent[0], sent[1]);
    assert.equal((sent[0]!.body as { idempotencyKey: string }).idempotencyKey.slice(0, 12), 'sdk-11111111');
  });

  test('the transport of the SDK waits before each retry, twice as long up to 8 seconds, with jitter of up to half of the wait', async () => {
    const { transport, slept } = scriptedTransport([errorResponse(503)], { maxRetries: 6 }, 0);
    await errorOf(transport.send(READ));
    assert.deepEqual(slept, [250, 500, 1000, 2000, 4000, 4000]);
  });

  test('the transport of the SDK waits for the time in Retry-After, and does not retry if it is more than 30 seconds', async () => {
    for (const [value, ms] of [
      ['3', 3000],
      ['Sun, 01 Mar 2026 12:00:07 GMT', 7000],
      ['Sun, 01 Mar 2026 11:00:00 GMT', 500],
      ['soon', 500],
      ['0', 500],
    ] as const) {
      const { transport, slept } = scriptedTransport([errorResponse(503, { 'retry-after': value }), { body: {} }]);
      await transport.send(READ);
      assert.deepEqual(slept, [ms], value);
    }
    const { transport, sent, slept } = scriptedTransport([errorResponse(503, { 'retry-after': '31' })]);
    assert.equal((await errorOf(transport.send(READ))).retryAfterMs, 31_000);
    assert.deepEqual([sent.length, slept], [1, []]);
  });
});

describe('the end of an SDK call', () => {
  test('a call of the SDK ends with timed_out after timeoutMs of an attempt, even if fetch ignores its signal', async () => {
    const { transport, sent } = scriptedTransport([{ hangs: true }], { timeoutMs: 5, maxRetries: 1 });
    const error = await errorOf(transport.send(READ));
    assert.ok(error instanceof TillwayConnectionError);
    assert.equal(error.code, 'timed_out');
    assert.equal(error.message, 'GET http://127.0.0.1:3000/x got no response within 5 ms.');
    assert.equal(sent.length, 2);
    const ignoresSignal = createTransport({ timeoutMs: 5, maxRetries: 0, fetch: () => new Promise(() => undefined) });
    assert.equal((await errorOf(ignoresSignal.send(READ))).code, 'timed_out');
  });

  test('a call of the SDK ends with the reason of its signal if the signal is aborted during an attempt or before a retry', async () => {
    const { transport, sent } = scriptedTransport([{ hangs: true }]);
    const controller = new AbortController();
    const options = { signal: controller.signal };
    const call = transport.send({ ...READ, options });
    controller.abort(new Error('enough'));
    await assert.rejects(call, { message: 'enough' });
    await assert.rejects(transport.send({ ...READ, options }), { message: 'enough' });
    assert.equal(sent.length, 1);

    const waiting = scriptedFetch(errorResponse(503, { 'retry-after': '30' }));
    const later = new AbortController();
    const retried = new Tillway({ fetch: waiting.fetch }).payments.get('pay_x', { signal: later.signal });
    while (waiting.sent.length === 0) await immediate();
    setImmediate(() => later.abort(new Error('enough')));
    await assert.rejects(retried, { message: 'enough' });
  });
});

describe('a call of the transport leaves no timer and no listener behind', () => {
  const SCRIPTS: Record<string, Scripted[]> = {
    'after a response': [{ body: {} }],
    'after a lost connection': [{ error: new TypeError('fetch failed') }],
    'after an error': [errorResponse(400)],
    'after a retry': [errorResponse(503), { body: {} }],
  };
  for (const [name, script] of Object.entries(SCRIPTS)) {
    test(`a call of the SDK leaves no timer and no listener behind ${name}`, async (context) => {
      const started = context.mock.method(globalThis, 'setTimeout');
      const cleared = context.mock.method(globalThis, 'clearTimeout');
      const { signal } = new AbortController();
      const { transport, sent } = scriptedTransport(script, { maxRetries: 1 });
      await transport.send({ ...READ, options: { signal } }).catch(() => undefined);
      // A signal can live as long as the program, and a timer keeps the program running.
      assert.deepEqual(getEventListeners(signal, 'abort'), []);
      const timers = started.mock.calls.map(({ result }) => result);
      assert.equal(timers.length, sent.length);
      assert.deepEqual(
        cleared.mock.calls.map(({ arguments: [timer] }) => timer),
        timers,
      );
    });
  }
});

describe('headers of a request', () => {
  test('headers of an SDK request are merged case-insensitively: the call overrides the client, and the client overrides the defaults', async () => {
    const type = 'application/json; charset=utf-8';
    const client = { Authorization: 'Bearer client', ACCEPT: 'a/b', 'User-Agent': 'shop', 'Content-Type': type };
    const headers = { authorization: 'Bearer call', Accept: 'c/d', 'x-CALL': '2' };
    const { transport, sent } = scriptedTransport([{ body: {} }], { headers: { ...client, 'X-Client': '1' } });
    await transport.send({ ...READ, method: 'POST', body: {}, options: { headers } });
    assert.deepEqual(sent[0]!.headers, {
      accept: 'c/d',
      'user-agent': 'shop',
      'content-type': type,
      authorization: 'Bearer call',
      'x-client': '1',
      'x-call': '2',
    });
  });

  test('a header with an invalid name or value is rejected before anything is sent, without the value in the error', async () => {
    for (const [name, value] of [
      ['x-secret', 'hidden\r\nEvil: 1'],
      ['x-secret', 'hidden €'],
      ['x secret', 'hidden'],
      ['x-secret', undefined],
      ['x-secret', null],
    ] as [string, string][]) {
      const expected = (error: Error) =>
        error instanceof TypeError && !/hidden/.test(error.message + String(error.cause));
      assert.throws(() => createTransport({ headers: { [name]: value } }), expected);
      const { transport, sent } = scriptedTransport([{ body: {} }]);
      await assert.rejects(transport.send({ ...READ, options: { headers: { [name]: value } } }), expected);
      assert.deepEqual(sent, []);
    }
  });
});

describe('the option apiKey', () => {
  const apiKey = `sk_live_${'a'.repeat(43)}`;

  test('the SDK option `apiKey` is sent as a Bearer token, unless the call has its own Authorization header', async () => {
    for (const [options, headers, expected] of [
      [{ apiKey }, {}, `Bearer ${apiKey}`],
      [{ apiKey }, { Authorization: 'Bearer other' }, 'Bearer other'],
      [{}, {}, undefined],
    ] as const) {
      const { transport, sent } = scriptedTransport([{ body: {} }], options);
      await transport.send({ ...READ, options: { headers } });
      assert.equal(sent[0]!.headers['authorization'], expected);
      assert.equal('authorization' in sent[0]!.headers, expected !== undefined);
    }
  });

  test('the SDK option `apiKey` appears in no error, not even in the error about an invalid key', async () => {
    const { transport } = scriptedTransport([errorResponse(401), { error: new Error('x') }], { apiKey, maxRetries: 0 });
    for (let times = 0; times < 2; times++) {
      const error = await errorOf(transport.send(READ));
      assert.ok(!`${JSON.stringify(error)}${error.stack}`.includes(apiKey));
    }
    const invalid = ['', `${apiKey}\n`, `${apiKey}\r\nx: 1`, `${apiKey} `, 'a\u0000b', 'a\u007fb', 'sk_ü', 5, null];
    for (const wrong of invalid) {
      assert.throws(
        () => createTransport({ apiKey: wrong as string }),
        (error: Error) => error instanceof TypeError && !error.message.includes(apiKey),
      );
    }
  });
});

describe('an error of the SDK', () => {
  const transportWith = (answer: Scripted) => scriptedTransport([answer], { maxRetries: 0 }).transport;

  test('an error of the SDK has the fields of the response', async () => {
    const issues = [{ path: 'amount', code: 'too_small', message: 'must be more than 0' }];
    const refused = { code: 'invalid_input', message: 'amount: no.', field: 'amount', suggestion: 'Set it.', issues };
    const answer = { status: 400, headers: { 'x-request-id': 'req-1' }, body: { ok: false, error: refused } };
    const error = await errorOf(transportWith(answer).send(READ));
    const expected = { name: 'TillwayError', ...refused, status: 400, requestId: 'req-1' };
    assert.deepEqual(JSON.parse(JSON.stringify(error)), expected);
    assert.equal(String(error), 'TillwayError: amount: no.');
    assert.match(error.stack!, /^TillwayError: amount: no\.\n {4}at /);
  });

  test('an error of the SDK names the address and the cause if the service cannot be reached', async () => {
    const cause = Object.assign(new Error('connect ECONNREFUSED 10.0.0.1:80'), { code: 'ECONNREFUSED' });
    const error = await errorOf(transportWith({ error: new TypeError('fetch failed', { cause }) }).send(READ));
    assert.ok(error instanceof TillwayConnectionError);
    assert.equal(error.code, 'connection_failed');
    assert.equal(error.message, 'GET http://127.0.0.1:3000/x: connect ECONNREFUSED 10.0.0.1:80.');
    assert.match(error.suggestion!, /runs at http:\/\/127\.0\.0\.1:3000/);
    assert.ok(!('status' in error));
  });

  test('an error of the SDK quotes a response that is not from Tillway', async () => {
    const html = { headers: { 'content-type': 'text/html; charset=utf-8' }, body: '<html>\n<h1>Nope</h1>' };
    for (const status of [200, 404, 502]) {
      const error = await errorOf(transportWith({ ...html, status }).send(READ));
      assert.equal(error.code, 'unexpected_response');
      assert.equal(error.status, status);
      assert.equal(
        error.message,
        `GET http://127.0.0.1:3000/x answered ${status} with a response that is not from Tillway (text/html): <html> <h1>Nope</h1>`,
      );
    }
    const empty = await errorOf(transportWith({ body: '', status: 500 }).send(READ));
    assert.match(empty.message, /\(application\/json\): \(empty\)$/);
    for (const body of [{ error: 'no' }, { error: null }, { error: { code: 1, message: 'no' } }, [], null, 'no']) {
      const foreign = await errorOf(transportWith({ body: JSON.stringify(body), status: 403 }).send(READ));
      assert.equal(foreign.code, 'unexpected_response');
    }
  });

  test('an error of the SDK omits fields of the wrong type', async () => {
    const issue = { path: 'amount', code: 'too_small', message: 'must be more than 0' };
    const validFields = { code: 'invalid_input', message: 'No.' };
    for (const [error, issues] of [
      [{ ...validFields, issues: 'all wrong', suggestion: { do: 'this' }, field: 7 }, []],
      [{ ...validFields, issues: [issue, 'wrong', null, { path: 'customer' }] }, [issue]],
    ] as const) {
      const read = await errorOf(transportWith({ status: 400, body: { ok: false, error } }).send(READ));
      assert.deepEqual(JSON.parse(JSON.stringify(read)), { name: 'TillwayError', ...validFields, status: 400, issues });
    }
  });

  test('an error of the SDK names the target of a redirect', async () => {
    const answer = { status: 301, headers: { location: 'https://pay.example/x' } };
    const error = await errorOf(transportWith(answer).send(WRITE));
    assert.match(error.message, /^POST http:\/\/127\.0\.0\.1:3000\/x was redirected to https:\/\/pay\.example\/x;/);
    assert.match(error.suggestion!, /^Set baseUrl/);
  });
});

test('a call of the client returns a Promise and sends its request once, whether or not the Promise is awaited', async () => {
  const { fetch, sent } = scriptedFetch({ body: { object: 'checkout_session' } }, errorResponse(404));
  const tillway = new Tillway({ fetch });
  const promise = tillway.sessions.expire('chk_x');
  await immediate();
  assert.equal(sent.length, 1);
  await promise;
  await promise.withResponse();
  assert.equal(sent.length, 1);

  const failing = tillway.sessions.get('chk_x');
  assert.ok(failing instanceof Promise);
  let isFinal = false;
  const caught = failing.catch((error: unknown) => (error as TillwayError).code).finally(() => (isFinal = true));
  assert.equal(await caught, 'unavailable');
  assert.ok(isFinal);
  assert.equal((await Promise.allSettled([failing]))[0].status, 'rejected');
});
