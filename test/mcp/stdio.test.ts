import assert from 'node:assert/strict';
import { type RequestListener, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { SAMPLE_SESSION_ID } from '../../src/contract/sample-ids.ts';
import { type TestService, startTestService } from '../support/service.ts';
import type { ToolAnswer } from './rpc.ts';
import { startBridge } from './stdio.ts';

const HELLO = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
};
const CALL = {
  jsonrpc: '2.0',
  id: 2,
  method: 'tools/call',
  params: { name: 'fees_estimate', arguments: { amount: 5 } },
};
const CANCEL = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 2 } };

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service[Symbol.asyncDispose]());

/** Another program that listens there. */
async function withServer(onRequest: RequestListener, work: (url: string) => Promise<void>): Promise<void> {
  const server = createServer(onRequest);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    await work(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

describe('at the end of its input', () => {
  test('everything that came in is answered first', async () => {
    const bridge = startBridge(service.url);
    bridge.end(HELLO, CALL, { ...CALL, id: 3 });
    await bridge.ended;
    assert.deepEqual(new Set(bridge.answers.map(({ id }) => id)), new Set([1, 2, 3]));
    const { structuredContent } = bridge.answers.find(({ id }) => id === 3)!.result as ToolAnswer;
    assert.equal(structuredContent.ok, true);
  });

  test('what was cancelled is not waited for', async () => {
    await withServer(
      () => undefined,
      async (url) => {
        const bridge = startBridge(url);
        bridge.end(HELLO, CALL, CANCEL);
        await bridge.ended;
        assert.deepEqual(
          bridge.answers.map(({ id }) => id),
          [1],
        );
      },
    );
  });

  test('what is not answered in time is not waited for any longer', async () => {
    const [waits, late] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    await withServer(
      () => undefined,
      async (url) => {
        let hasEnded = false;
        const bridge = startBridge(url, () => {
          waits.resolve();
          return late.promise;
        });
        bridge.end(HELLO, CALL);
        const ended = bridge.ended.then(() => (hasEnded = true));
        await waits.promise;
        assert.equal(hasEnded, false);
        late.resolve();
        await ended;
        assert.deepEqual(
          bridge.answers.map(({ id }) => id),
          [1],
        );
      },
    );
  });
});

describe('where the address is not that of a service', () => {
  const calls: [name: string, input: object][] = [
    ['fees_estimate', { amount: 5 }],
    ['routes_list', {}],
    ['payment_get', { paymentId: SAMPLE_SESSION_ID }],
  ];

  async function assertUnavailable(url: string, asked = calls): Promise<void> {
    const bridge = startBridge(url);
    for (const [name, input] of asked) {
      const call = JSON.stringify({ name, arguments: input });
      const { structuredContent, isError } = await bridge.ask<ToolAnswer>('tools/call', call);
      const { code, message, suggestion } = structuredContent.error!;
      assert.deepEqual([isError, code], [true, 'unavailable'], `${name}: ${message}`);
      assert.equal(suggestion!.startsWith(`Check that ${url} is the address`), true);
    }
    bridge.end();
    await bridge.ended;
  }

  test('each tool says so of a path that the service has not', () => assertUnavailable(`${service.url}/api`));

  test('each tool says so of a page', () =>
    withServer(
      (_request, response) => response.setHeader('content-type', 'text/html').end('<title>Welcome</title>'),
      assertUnavailable,
    ));

  test('what is no operation there is not said to be a missing record', async () => {
    const error = { code: 'not_found', message: 'No route.' };
    await withServer(
      (_request, response) => response.writeHead(404).end(JSON.stringify({ error })),
      (url) => assertUnavailable(url, calls.slice(0, 2)),
    );
  });

  test('a payment that the service has not is still not_found', async () => {
    const bridge = startBridge(service.url);
    const asked = JSON.stringify({ name: 'payment_get', arguments: { paymentId: SAMPLE_SESSION_ID } });
    const { structuredContent } = await bridge.ask<ToolAnswer>('tools/call', asked);
    assert.equal(structuredContent.error!.code, 'not_found');
    bridge.end();
    await bridge.ended;
  });
});
