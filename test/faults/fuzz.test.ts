import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Part, createApp } from '../../src/http/app.ts';
import { healthProbes } from '../../src/http/health.ts';
import { type FuzzOptions, type FuzzReport, fuzz, fuzzSettings, summaryOf } from './fuzz.ts';
import { type FuzzedService, startFuzzedService } from './fuzzed-service.ts';

const REQUESTS = 12_000;
// The same requests every time: here a change is tested, not chance. `node test/faults/fuzz.ts` draws new ones.
const SEED = 20_260_301;
// Every way in which a request can be refused, besides the answers to what is right.
const REACHED = [200, 303, 400, 401, 403, 404, 405, 409, 413, 415, 422, 431];

describe('fuzzed requests', () => {
  it(`get no 5xx, no refusal outside the envelope and log no error, ${REQUESTS} of them`, async (context) => {
    await using service = await startFuzzedService();
    const settings = fuzzSettings(SEED, REQUESTS);
    const report = await fuzz(service, settings);
    context.diagnostic(summaryOf(report));
    assert.deepEqual(report.failures, [], report.failures.join('\n'));
    assert.equal(report.sent, settings.requests);
    if (settings.requests < REQUESTS) return;
    // Or else it proves less than it seems to.
    assert.deepEqual(
      REACHED.filter((status) => !report.statuses.has(status)),
      [],
    );
    const { data } = (await (await fetch(`http://${service.world.host}/api/gateway/payments?status=paid`)).json()) as {
      data: unknown[];
    };
    assert.ok(data.length > 0, 'no payment was brought to an end');
  });
});

describe('the fuzzer finds', () => {
  const seed = 7;
  let service: FuzzedService;
  before(async () => {
    service = await startFuzzedService();
  });
  after(() => service[Symbol.asyncDispose]());

  it('a handler that throws for some input', async () => {
    const report = await fuzzPlanted((app) => {
      app.post<{ Body: { product: string } }>('/api/gateway/sessions', async ({ body }) => body.product.trim());
    });
    assert.match(report.failures.join('\n'), /status 500\n {2}logged: .*TypeError/);
  });

  it('a refusal that is not in the envelope', async () => {
    const report = await fuzzPlanted((app) => {
      app.get<{ Querystring: { limit?: string } }>('/api/gateway/customers', async ({ query }, reply) =>
        Array.isArray(query.limit) ? reply.code(400).send({ error: 'one limit, please' }) : { object: 'list' },
      );
    });
    assert.match(report.failures.join('\n'), /no error envelope/);
  });

  it('an error in the log, whatever the answer was', async () => {
    const report = await fuzzPlanted((app, { log }) => {
      app.post('/api/gateway/sessions', async ({ body }) => {
        if (Array.isArray(body)) log.error('an array');
        return {};
      });
    });
    assert.match(report.failures.join('\n'), /after \d+ requests of seed 7: logged: .*an array/);
  });

  it('a request that is never answered', async () => {
    const report = await fuzzPlanted(
      (app) => {
        app.get<{ Params: { id: string } }>('/api/gateway/payments/:id', ({ params }, reply) => {
          if (params.id.startsWith('pay_')) reply.send({});
        });
      },
      { timeoutMs: 300 },
    );
    assert.match(report.failures.join('\n'), /no answer within 300 ms/);
  });

  it('an answer that only says that it is JSON', async () => {
    const report = await fuzzPlanted((app) => {
      app.get('/api/gateway/customers', (_request, reply) => reply.type('application/json').send('{"object":'));
    });
    assert.match(report.failures.join('\n'), /says that it is JSON, and is not/);
  });

  it('a service that is not ready any more at the end', async () => {
    let left = 4000;
    const report = await fuzzPlanted(
      (app) => void app.addHook('onRequest', async () => void left--),
      {},
      () => left > 0,
    );
    assert.match(report.failures.at(-1) ?? '', /readyz answers 503/);
  });

  it('the same with the same seed, and tells how', async () => {
    const plant: Part = (app) => {
      app.post<{ Body: { product: string } }>('/api/gateway/sessions', async ({ body }) => body.product.trim());
    };
    const options = { connections: 1, requests: 5000 };
    const [first, second] = [await fuzzPlanted(plant, options), await fuzzPlanted(plant, options)];
    assert.ok(first.failures.length > 0);
    assert.deepEqual(numbersOf(second), numbersOf(first));
    assert.match(first.failures.join('\n'), /FUZZ_SEED=7 FUZZ_REQUESTS=5000 node test\/faults\/fuzz\.ts/);
  });

  function numbersOf({ failures }: FuzzReport): string[] {
    return failures.map((failure) => failure.slice(0, failure.indexOf(':')));
  }

  /** An app of the real kind, with one bad part in it. */
  async function fuzzPlanted(
    part: Part,
    options: Partial<FuzzOptions> = {},
    isReady = () => true,
  ): Promise<FuzzReport> {
    const app = await createApp({ ...service.deps, isReady }, [healthProbes, part]);
    await app.listen({ host: '127.0.0.1', port: 0 });
    const { port } = new URL(app.listeningOrigin);
    try {
      const world = { ...service.world, host: `127.0.0.1:${port}`, ids: new Map(service.world.ids) };
      return await fuzz({ ...service, port: Number(port), world }, { seed, requests: 5000, ...options });
    } finally {
      await app.close();
    }
  }
});
