// @run needs=process
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, describe, test } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as StdioTransportV1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as HttpTransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { SAMPLE_SESSION_ID } from '../../src/contract/sample-ids.ts';
import { freePort } from '../process/program.ts';
import { providerSays } from '../support/money-arrives.ts';
import { type TestService, sessionBody, startTestService } from '../support/service.ts';
import { toolPath } from '../support/tools.ts';
import { type ToolAnswer, callTool } from './rpc.ts';
import { stdioCommand } from './stdio-command.ts';

/** What the clients of others have in common. */
interface ForeignClient {
  listTools(): Promise<{ tools: { name: string }[] }>;
  callTool(call: { name: string; arguments: Record<string, unknown> }): Promise<unknown>;
  readResource(resource: { uri: string }): Promise<unknown>;
  getPrompt(prompt: { name: string; arguments: Record<string, string> }): Promise<unknown>;
  close(): Promise<void>;
}

let service: TestService;
let inputs: Record<string, Record<string, unknown>>;
before(async () => {
  service = await startTestService();
  const created = await callTool(service.url, 'checkout_create', sessionBody());
  const paymentId = String(created.structuredContent.result!['id']);
  await providerSays(service, paymentId, 'paid');
  const waiting = await callTool(service.url, 'checkout_create', sessionBody());
  const refund = { paymentId, amount: 1, idempotencyKey: 'refund-of-the-clients' };
  const refunded = await callTool(service.url, 'refund_create', refund);
  inputs = {
    fees_estimate: { amount: 49.99 },
    checkout_preview: sessionBody(),
    checkout_create: sessionBody(),
    webhook_example: { event: 'payment.failed' },
    webhook_verify_sample: {
      payload: { eventId: 'evt_1', sessionId: SAMPLE_SESSION_ID, status: 'paid', amount: 49.99 },
    },
    routes_list: {},
    session_get: { sessionId: paymentId },
    session_expire: { sessionId: String(waiting.structuredContent.result!['id']) },
    payment_get: { paymentId },
    payment_list: { status: 'paid', limit: 5 },
    refund_create: refund,
    refund_get: { refundId: String(refunded.structuredContent.result!['id']) },
  };
});
after(() => service[Symbol.asyncDispose]());

/** Lists, runs every tool once, makes one mistake, reads a resource and gets the prompt. */
async function assertServed(client: ForeignClient): Promise<void> {
  try {
    const { tools } = await client.listTools();
    assert.deepEqual(
      tools.map(({ name }) => name),
      Object.keys(inputs),
    );
    for (const [name, input] of Object.entries(inputs)) {
      assertRan(name, (await client.callTool({ name, arguments: input })) as ToolAnswer);
    }
    assertRefused((await client.callTool({ name: 'checkout_create', arguments: { amount: 0 } })) as ToolAnswer);
    const { contents } = (await client.readResource({ uri: 'gateway://schema/checkout.create' })) as {
      contents: { text: string }[];
    };
    assert.equal((JSON.parse(contents[0]!.text) as { operation: string }).operation, 'checkout.create');
    const asked = { product: 'Field guide', amount: '5', customer: 'buyer@example.com' };
    await client.getPrompt({ name: 'sell_one_item', arguments: asked });
  } finally {
    await client.close();
  }
}

function assertRan(name: string, { isError, structuredContent, content }: ToolAnswer): void {
  assert.deepEqual([isError ?? false, structuredContent.ok], [false, true], name);
  assert.equal(structuredContent.action.replaceAll('.', '_'), name);
  assert.deepEqual(JSON.parse(content[0]!.text), structuredContent);
}

function assertRefused({ isError, structuredContent }: ToolAnswer): void {
  assert.deepEqual([isError, structuredContent.ok, structuredContent.error!.code], [true, false, 'invalid_input']);
  assert.deepEqual(
    structuredContent.error!.issues!.map(({ path }) => path),
    ['product', 'amount', 'customer'],
  );
}

const NAMED = { name: 'foreign', version: '1' };
/** Nothing is measured by it. */
const PATIENCE_MS = 60_000;
const httpUrl = () => new URL(`${service.url}/mcp`);

describe('clients that others have written', () => {
  test('the first official client, over HTTP', async () => {
    const client = new ClientV1(NAMED);
    await client.connect(new HttpTransportV1(httpUrl()));
    await assertServed(client);
  });

  test('the first official client, over stdio, given the address that others take', async () => {
    const client = new ClientV1(NAMED);
    await client.connect(new StdioTransportV1(stdioCommand(String(httpUrl()))));
    await assertServed(client);
  });

  for (const [version, mode] of [
    ['2025-11-25', 'legacy'],
    ['2026-07-28', { pin: '2026-07-28' }],
  ] as const) {
    test(`the second official client, over HTTP with the protocol of ${version}`, async () => {
      const client = new Client(NAMED, { versionNegotiation: { mode } });
      await client.connect(new StreamableHTTPClientTransport(httpUrl()));
      assert.equal(client.getNegotiatedProtocolVersion(), version);
      await assertServed(client);
    });
  }

  test('the second official client, over stdio with the protocol of 2026-07-28', async () => {
    const client = new Client(NAMED, { versionNegotiation: { mode: 'auto' } });
    await client.connect(new StdioClientTransport(stdioCommand(service.url)));
    assert.equal(client.getNegotiatedProtocolVersion(), '2026-07-28');
    await assertServed(client);
  });

  test('the command line of the Inspector, which finds no fault with the schemas', async () => {
    const calls = Object.entries(inputs).map(([name, input]) => async () => {
      const { code, answer } = await inspect('tools/call', '--tool-name', name, ...argumentsOf(input));
      assert.equal(code, 0, name);
      assertRan(name, answer as ToolAnswer);
    });
    await twoAtATime([
      async () => {
        const { code, answer } = await inspect('tools/list', '--strict');
        assert.equal(code, 0);
        assert.equal((answer as { tools: unknown[] }).tools.length, Object.keys(inputs).length);
      },
      async () => {
        const { code, answer } = await inspect(
          'tools/call',
          '--tool-name',
          'checkout_create',
          '--tool-arg',
          'amount=0',
        );
        assert.notEqual(code, 0);
        assertRefused(answer as ToolAnswer);
      },
      ...calls,
    ]);
  });
});

describe('tillway mcp', () => {
  test('says where no service answers, and how to start one', async () => {
    const client = new Client(NAMED, { versionNegotiation: { mode: 'auto' } });
    const nowhere = `http://127.0.0.1:${await freePort()}`;
    await client.connect(new StdioClientTransport(stdioCommand(nowhere)));
    try {
      // What can be told without the service is told.
      assert.equal((await client.listTools()).tools.length, Object.keys(inputs).length);
      for (const [name, input] of Object.entries(inputs)) {
        const { isError, structuredContent } = (await client.callTool({
          name,
          arguments: input,
        })) as unknown as ToolAnswer;
        const { code, message, suggestion } = structuredContent.error!;
        assert.deepEqual([isError, code], [true, 'unavailable']);
        assert.ok(message.startsWith(`No Tillway service answers at ${nowhere}: `), message);
        assert.match(message, /ECONNREFUSED/);
        assert.match(suggestion!, /tillway serve/);
      }
      await assert.rejects(client.readResource({ uri: 'gateway://capabilities' }), /tillway serve/);
    } finally {
      await client.close();
    }
  });

  test('writes nothing but the protocol, and ends well when its input is closed', async () => {
    const { command, args } = stdioCommand(service.url);
    const { promise, resolve } = Promise.withResolvers<{ code: number; stdout: string }>();
    const child = execFile(command, args, (error, stdout) => resolve({ code: Number(error?.code ?? 0), stdout }));
    child.stdout!.once('data', () => child.stdin!.end());
    child.stdin!.write('this is not JSON\n');
    child.stdin!.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })}\n`);
    const { code, stdout } = await promise;
    assert.equal(code, 0);
    const lines = stdout.trimEnd().split('\n');
    assert.deepEqual(
      lines.map((line) => (JSON.parse(line) as { id: number }).id),
      [1],
    );
  });
});

/** Runs the Inspector once; answers what it printed. */
function inspect(method: string, ...options: string[]): Promise<{ code: number; answer: unknown }> {
  const args = [toolPath('mcp-inspector'), '--cli', String(httpUrl()), '--transport', 'http', '--method', method];
  // By itself it would wait for 15 s.
  args.push('--connect-timeout', String(PATIENCE_MS));
  const { promise, resolve, reject } = Promise.withResolvers<{ code: number; answer: unknown }>();
  execFile(process.execPath, [...args, ...options], (error, stdout, stderr) => {
    try {
      resolve({ code: Number(error?.code ?? 0), answer: JSON.parse(stdout) });
    } catch {
      reject(new Error(`the Inspector printed ${stdout}${stderr}`));
    }
  });
  return promise;
}

function argumentsOf(input: Record<string, unknown>): string[] {
  return Object.entries(input).flatMap(([key, value]) => [
    '--tool-arg',
    `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  ]);
}

async function twoAtATime(tasks: (() => Promise<void>)[]): Promise<void> {
  const waiting = tasks.values();
  const lane = async () => {
    for (const task of waiting) await task();
  };
  await Promise.all([lane(), lane()]);
}
