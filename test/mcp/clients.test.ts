// @run needs=process
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as StdioTransportV1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as HttpTransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { SAMPLE_IDS } from '../../src/contract/sample-ids.ts';
import { providerSays } from '../support/money-arrives.ts';
import { type TestService, sessionBody, startTestService } from '../support/service.ts';
import { toolPath } from '../support/tools.ts';
import { type ToolAnswer, callTool } from './rpc.ts';
import { stdioCommand } from './stdio-command.ts';

/** Methods that all tested MCP clients have. */
interface McpClient {
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
      payload: { eventId: 'evt_1', sessionId: SAMPLE_IDS.chk, status: 'paid', amount: 49.99 },
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

/** Lists the tools, calls each tool once and one tool with invalid input, reads a resource and gets the prompt. */
async function assertClientWorks(client: McpClient): Promise<void> {
  try {
    const { tools } = await client.listTools();
    const names = tools.map(({ name }) => name);
    assert.deepEqual(names, Object.keys(inputs));
    for (const [name, input] of Object.entries(inputs)) {
      assertSucceeded(name, (await client.callTool({ name, arguments: input })) as ToolAnswer);
    }
    assertRejected((await client.callTool({ name: 'checkout_create', arguments: { amount: 0 } })) as ToolAnswer);
    const { contents } = (await client.readResource({ uri: 'gateway://schema/checkout.create' })) as {
      contents: { text: string }[];
    };
    assert.equal((JSON.parse(contents[0]!.text) as { operation: string }).operation, 'checkout.create');
    const order = { product: 'Field guide', amount: '5', customer: 'buyer@example.com' };
    await client.getPrompt({ name: 'sell_one_item', arguments: order });
  } finally {
    await client.close();
  }
}

function assertSucceeded(name: string, { isError, structuredContent, content }: ToolAnswer): void {
  assert.deepEqual([isError ?? false, structuredContent.ok], [false, true], name);
  assert.equal(structuredContent.action.replaceAll('.', '_'), name);
  assert.deepEqual(JSON.parse(content[0]!.text), structuredContent);
}

function assertRejected({ isError, structuredContent }: ToolAnswer): void {
  assert.deepEqual([isError, structuredContent.ok, structuredContent.error!.code], [true, false, 'invalid_input']);
  const paths = structuredContent.error!.issues!.map(({ path }) => path);
  assert.deepEqual(paths, ['product', 'amount', 'customer']);
}

const CLIENT_INFO = { name: 'foreign', version: '1' };
const run = promisify(execFile);
/** Connect timeout of the Inspector. Its default of 15 s can be too short on a busy machine. */
const CONNECT_TIMEOUT_MS = 60_000;
const httpUrl = () => new URL(`${service.url}/mcp`);

describe('every MCP tool can be called by', () => {
  for (const [name, transport] of [
    ['HTTP', () => new HttpTransportV1(httpUrl())],
    ['stdio, started with the URL of /mcp', () => new StdioTransportV1(stdioCommand(String(httpUrl())))],
  ] as const) {
    test(`version 1 of the official client can call every tool over ${name}`, async () => {
      const client = new ClientV1(CLIENT_INFO);
      await client.connect(transport());
      await assertClientWorks(client);
    });
  }

  const overHttp = () => new StreamableHTTPClientTransport(httpUrl());
  const overStdio = () => new StdioClientTransport(stdioCommand(service.url));
  for (const [name, version, mode, transport] of [
    ['HTTP', '2025-11-25', 'legacy', overHttp],
    ['HTTP', '2026-07-28', { pin: '2026-07-28' }, overHttp],
    ['stdio', '2026-07-28', 'auto', overStdio],
  ] as const) {
    test(`version 2 of the official client can call every tool over ${name} with protocol version ${version}`, async () => {
      const client = new Client(CLIENT_INFO, { versionNegotiation: { mode } });
      await client.connect(transport());
      assert.equal(client.getNegotiatedProtocolVersion(), version);
      await assertClientWorks(client);
    });
  }
});

test('the MCP Inspector accepts the tool schemas, and reports a tool error', async () => {
  const list = await inspect('tools/list', '--strict');
  assert.equal(list.code, 0);
  assert.equal((list.answer as { tools: unknown[] }).tools.length, Object.keys(inputs).length);
  const refused = await inspect('tools/call', '--tool-name', 'checkout_create', '--tool-arg', 'amount=0');
  assert.notEqual(refused.code, 0);
  assertRejected(refused.answer as ToolAnswer);
});

test('tillway mcp writes only protocol messages, and exits with 0 when its input is closed', async () => {
  const { command, args } = stdioCommand(service.url);
  const running = run(command, args);
  const { stdin, stdout: output } = running.child;
  output!.once('data', () => stdin!.end());
  stdin!.write('this is not JSON\n');
  stdin!.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })}\n`);
  const { stdout } = await running;
  const lines = stdout.trimEnd().split('\n');
  assert.deepEqual(
    lines.map((line) => (JSON.parse(line) as { id: number }).id),
    [1],
  );
});

/** Runs the Inspector once; resolves with its exit code and output. */
function inspect(method: string, ...options: string[]): Promise<{ code: number; answer: unknown }> {
  const args = [toolPath('mcp-inspector'), '--cli', String(httpUrl()), '--transport', 'http', '--method', method];
  args.push('--connect-timeout', String(CONNECT_TIMEOUT_MS));
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
