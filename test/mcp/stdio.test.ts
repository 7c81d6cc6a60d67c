import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { SAMPLE_IDS } from '../../src/contract/sample-ids.ts';
import { startServer } from '../support/http-server.ts';
import { freePort } from '../process/program.ts';
import { type TestService, startTestService } from '../support/service.ts';
import type { ToolAnswer } from './rpc.ts';
import { startBridge } from './stdio.ts';

const REQUEST = { jsonrpc: '2.0' };
const CLIENT = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } };
const INITIALIZE = { ...REQUEST, id: 1, method: 'initialize', params: CLIENT };
const CALL = { ...REQUEST, id: 2, method: 'tools/call', params: { name: 'fees_estimate', arguments: { amount: 5 } } };

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service[Symbol.asyncDispose]());

const idsOf = (answers: readonly { id: number }[]) => answers.map(({ id }) => id).toSorted((one, other) => one - other);

test('tillway mcp answers every pending request at the end of its input', async () => {
  const bridge = startBridge(service.url);
  bridge.end(INITIALIZE, CALL, { ...CALL, id: 3 });
  await bridge.ended;
  assert.deepEqual(idsOf(bridge.answers), [1, 2, 3]);
  const { structuredContent } = bridge.answers.find(({ id }) => id === 3)!.result as ToolAnswer;
  assert.equal(structuredContent.ok, true);
});

describe('every tool of tillway mcp returns unavailable', () => {
  const CALLS: [name: string, input: object][] = [
    ['fees_estimate', { amount: 5 }],
    ['routes_list', {}],
    ['payment_get', { paymentId: SAMPLE_IDS.chk }],
  ];

  async function assertUnavailable(url: string, expected: RegExp, calls = CALLS): Promise<void> {
    await using bridge = startBridge(url);
    for (const [name, input] of calls) {
      const { structuredContent, isError } = await bridge.callTool(name, input);
      const { code, message, suggestion } = structuredContent.error!;
      assert.deepEqual([isError, code], [true, 'unavailable'], `${name}: ${message}`);
      assert.match(`${message} ${suggestion}`, expected);
    }
  }

  test('every tool returns unavailable, with a hint to tillway serve, if no program listens at the URL', async () => {
    const unusedUrl = `http://127.0.0.1:${await freePort()}`;
    await assertUnavailable(unusedUrl, /^No Tillway service answers at .*ECONNREFUSED.*tillway serve/);
    await using bridge = startBridge(unusedUrl);
    // `tillway mcp` answers `tools/list` without a service.
    assert.equal((await bridge.request<{ tools: object[] }>('tools/list')).tools.length, 12);
    const capabilities = bridge.request('resources/read', '{"uri":"gateway://capabilities"}');
    await assert.rejects(capabilities, /tillway serve/);
  });

  test('every tool returns unavailable if the URL has a path that the service does not have', () =>
    assertUnavailable(`${service.url}/api`, /Check that the service runs .* its base URL/));

  test('every tool returns unavailable if the URL leads to a web page', async () => {
    await using page = await startServer((_request, response) =>
      response.setHeader('content-type', 'text/html').end('<title>Welcome</title>'),
    );
    await assertUnavailable(page.url, /Check that the service runs .* its base URL/);
  });

  test('every tool returns unavailable if the service lacks the operation, but not_found for a missing record', async () => {
    const error = { code: 'not_found', message: 'No route.' };
    await using other = await startServer((_request, response) =>
      response.writeHead(404).end(JSON.stringify({ error })),
    );
    await assertUnavailable(other.url, /Check that the service runs .* its base URL/, CALLS.slice(0, 2));
    await using bridge = startBridge(service.url);
    const { structuredContent } = await bridge.callTool('payment_get', { paymentId: SAMPLE_IDS.chk });
    assert.equal(structuredContent.error!.code, 'not_found');
  });
});
