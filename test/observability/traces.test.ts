import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { runWithOrigin } from '../../src/telemetry/origin.ts';
import { createTracing } from '../../src/telemetry/otlp.ts';
import { webhooks } from '../../sdk/src/index.ts';
import { attempt, createSession } from '../simulator/buyer.ts';
import { createServiceDatabase } from '../support/database.ts';
import { type TestService, call, sessionBody, startTestService } from '../support/service.ts';
import { startMerchant } from '../support/http-server.ts';
import { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from './otlp-receiver.ts';
import { until } from '../support/until.ts';

const SECRET = `whsec_${Buffer.from('0123456789abcdef0123456789abcdef').toString('base64')}`;
const EMAIL = 'Trillian.Astra@mailbox.example';
const CARD = '4242424242424242';
const PRIVATE_TEXTS = ['trillian', 'mailbox.example', CARD, SECRET.slice(6, -2), 'Bearer', 'hook-key', '?'];
const CALLER_TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const SERVER = 2;
const SILENT_LOG = { info() {}, warn() {} };

const collector = await startOtlpReceiver();
const merchant = await startMerchant();
const database = await createServiceDatabase();
after(async () => {
  await database[Symbol.asyncDispose]();
  await merchant[Symbol.asyncDispose]();
  await collector[Symbol.asyncDispose]();
});

describe('traces over OTLP', () => {
  function startTraced(): Promise<TestService> {
    return startTestService({
      beside: { databaseUrl: database.url },
      variables: {
        OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`,
        OTEL_EXPORTER_OTLP_HEADERS: 'x-collector=of%20ours',
        OTEL_SERVICE_NAME: 'tillway-test',
        WEBHOOK_URL: `${merchant.url}/hooks?key=hook-key`,
        WEBHOOK_SECRET: SECRET,
      },
    });
  }

  const spansNamed = (name: string, spans = collector.spans) => spans.filter((span) => span.name === name);
  const onlySpan = (name: string, spans = collector.spans): ReceivedSpan => {
    const [span, ...others] = spansNamed(name, spans);
    assert.ok(span, `no span ${name} among ${spans.map((each) => each.name).join(', ')}`);
    assert.equal(others.length, 0, `more than one ${name}`);
    return span;
  };

  const deliveriesWithStatus = (status: number) =>
    spansNamed('webhook delivery').filter(({ attributes }) => attributes['http.response.status_code'] === status);
  const isOfPaid = ({ attributes }: ReceivedSpan) => String(attributes['tillway.event.id']).endsWith('_paid');

  test('a trace links a callback to its commit and, after a restart, to its delivery', async () => {
    const service = await startTraced();
    const sessions = `${service.url}/api/gateway/sessions`;
    const headers = { traceparent: `00-${CALLER_TRACE_ID}-00f067aa0ba902b7-01`, tracestate: 'vendor=x' };
    const created = await call<{ id: string }>('POST', sessions, sessionBody({ customer: EMAIL }), headers);
    assert.equal(created.status, 200);
    await attempt(service, created.body.id, 'card', 'paid');
    // The merchant rejects the event from the first process, and accepts it from the second process.
    merchant.status = 500;
    await service.pass(0);
    // A shutdown waits at most two seconds for its last spans.
    await until(() => deliveriesWithStatus(500).length > 0);
    await service[Symbol.asyncDispose]();
    const second = await startTraced();
    merchant.status = 200;
    await second.pass(60 * 60_000);
    await until(() => deliveriesWithStatus(200).some(isOfPaid));
    await second[Symbol.asyncDispose]();
    const { spans } = collector;

    // Trace of the session request: the caller, the operation, the commit.
    const requestSpan = onlySpan('POST /api/gateway/sessions');
    assert.equal(requestSpan.traceId, CALLER_TRACE_ID);
    assert.equal(requestSpan.parentSpanId, '00f067aa0ba902b7');
    assert.equal(requestSpan.kind, SERVER);
    assert.partialDeepStrictEqual(requestSpan.attributes, {
      'http.request.method': 'POST',
      'http.route': '/api/gateway/sessions',
      'http.response.status_code': 200,
      'tillway.request_id': created.headers.get('x-request-id'),
    });
    assert.equal(requestSpan.resource['service.name'], 'tillway-test');
    const operation = onlySpan('createSession');
    assert.equal(operation.parentSpanId, requestSpan.spanId);
    const children = spans.filter(({ parentSpanId }) => parentSpanId === operation.spanId);
    onlySpan('commit', children);

    // Trace of the callback: the callback, its commit, the delivery attempts of both processes.
    assert.equal(deliveriesWithStatus(500).length, 1);
    const delivered = deliveriesWithStatus(200).find(isOfPaid)!;
    const trace = spans.filter(({ traceId }) => traceId === delivered.traceId);
    const callback = onlySpan('POST /api/providers/:provider/callbacks', trace);
    const applied = onlySpan('applySignal', trace);
    assert.equal(applied.parentSpanId, callback.spanId);
    assert.ok(spansNamed('commit', trace).some(({ parentSpanId }) => parentSpanId === applied.spanId));
    assert.equal(delivered.parentSpanId, applied.spanId);

    // Trace of the payment: its start, the handoff, the request at the provider.
    const started = onlySpan('startPayment');
    const handedOff = onlySpan('sandbox handoff');
    assert.equal(handedOff.parentSpanId, started.spanId);
    const served = onlySpan('POST /simulator/api/payments');
    assert.equal(served.parentSpanId, handedOff.spanId);
    assert.equal(collector.headers['x-collector'], 'of ours');
  });

  test('the merchant receives the trace id in the header traceparent, which no signature covers', async () => {
    const { headers, body } = merchant.received.at(-1)!;
    const delivered = spansNamed('webhook delivery').find(({ spanId }) =>
      String(headers['traceparent']).includes(spanId),
    );
    assert.ok(delivered);
    assert.equal(headers['traceparent'], `00-${delivered.traceId}-${delivered.spanId}-01`);
    const checked = await webhooks.check(body, headers, SECRET, { toleranceSeconds: Infinity });
    assert.ok(checked.ok);
  });

  test('traces contain no email address, card number, secret or query', () => {
    assert.ok(collector.spans.length > 0);
    for (const { name, attributes } of collector.spans) {
      const text = JSON.stringify({ name, attributes }).toLowerCase();
      for (const secret of PRIVATE_TEXTS) assert.ok(!text.includes(secret.toLowerCase()), `${secret} in ${text}`);
    }
  });
});

describe('a trace collector that fails', () => {
  const sampler = { name: 'always_on', parentBased: true, ratio: 1 } as const;
  const settings = ({ url }: OtlpReceiver) => ({ url: `${url}/v1/traces`, headers: {}, serviceName: 'test', sampler });

  test('a failing trace collector does not make any request fail', async () => {
    await using collector = await startOtlpReceiver();
    collector.answer = 400;
    const service = await startTestService({ variables: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url } });
    for (let count = 0; count < 5; count++) await createSession(service);
    const warnings = () => service.logged.filter((line) => line.includes('traces cannot be sent'));
    await until(() => warnings().length > 0);
    await service[Symbol.asyncDispose]();
    assert.equal(warnings().length, 1);
    assert.ok(!warnings()[0]!.includes('requestId'));
  });

  test('a trace collector that does not respond does not delay a shutdown', async () => {
    await using collector = await startOtlpReceiver();
    collector.answer = 'hang';
    // The timeout of the exporter is much longer than the timeout of the shutdown.
    const tracing = createTracing(settings(collector), '1', SILENT_LOG, 300_000);
    tracing.begin({ name: 'span' }).end();
    let stopped = false;
    void tracing.stop(10).then(() => (stopped = true));
    await until(() => collector.headers['host'] !== undefined);
    await until(() => stopped);
  });

  test('a failing trace collector causes bounded memory use and one log line', async () => {
    await using collector = await startOtlpReceiver();
    collector.answer = 400;
    const lines: string[] = [];
    const write = (_: object, text: string) => void lines.push(text);
    const tracing = createTracing(settings(collector), '1', { info: write, warn: write });
    for (let count = 0; count < 10_000; count++) tracing.begin({ name: 'span' }).end();
    await tracing.stop(60_000);
    assert.deepEqual(lines, ['traces cannot be sent']);
    assert.ok(collector.seen <= 4096, `${collector.seen} spans were received`);
  });
});

describe('a trace parent', () => {
  const settings = { url: 'http://127.0.0.1:9/v1/traces', headers: {}, serviceName: 'test' };
  const tracing = (name: 'always_on' | 'always_off' | 'traceidratio', parentBased = true) =>
    createTracing({ ...settings, sampler: { name, parentBased, ratio: 0 } }, '1', SILENT_LOG);
  const sampled = `00-${CALLER_TRACE_ID}-00f067aa0ba902b7-01`;

  for (const [parent, continues] of [
    [sampled, true],
    [`01-${CALLER_TRACE_ID}-00f067aa0ba902b7-01-more`, true],
    [`ff-${CALLER_TRACE_ID}-00f067aa0ba902b7-01`, false],
    [`00-${'0'.repeat(32)}-00f067aa0ba902b7-01`, false],
    [`00-${CALLER_TRACE_ID}-${'0'.repeat(16)}-01`, false],
    [`00-${CALLER_TRACE_ID.toUpperCase()}-00f067aa0ba902b7-01`, false],
    ['invalid', false],
    ['', false],
  ] as const) {
    test(`the trace parent ${parent === '' ? '(empty)' : parent} is ${continues ? 'continued' : 'ignored'}`, () => {
      const { traceParent } = tracing('always_on').begin({ name: 'span', parent });
      assert.equal(traceParent.slice(3, 35) === CALLER_TRACE_ID, continues);
      assert.match(traceParent, /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
    });
  }

  test('a trace parent keeps the sampling decision of the caller, and child spans inherit the decision', () => {
    for (const [parent, flags] of [
      [sampled, '-01'],
      [sampled.replace(/01$/, '00'), '-00'],
    ] as const) {
      const { traceParent } = tracing('always_on').begin({ name: 'span', parent });
      const child = runWithOrigin({ requestId: null, traceParent }, () =>
        tracing('always_on').begin({ name: 'child' }),
      );
      assert.deepEqual([traceParent.slice(-3), child.traceParent.slice(-3)], [flags, flags]);
    }
  });
});
