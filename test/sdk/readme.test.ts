// @run needs=process
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, after, before, describe, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import type { Express } from 'express';
import type { FastifyInstance } from 'fastify';
import type { Hono } from 'hono';
import { webhooks } from '../../sdk/src/index.ts';
import { startServer } from '../support/http-server.ts';
import { type TestService, startTestService } from '../support/service.ts';
import { type Snippet, documentedOutput, readmeSnippets } from './readme.ts';

const SECRET = 'whsec_dGhlIHNlY3JldCBvZiB0aGUgUkVBRE1FIHRlc3Q=';
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const SDK = pathToFileURL(join(ROOT, 'sdk/src/index.ts')).href;
const HANDLERS = ['Express', 'Fastify', 'Hono', 'Fetch'];
const SERVICE_URL = 'http://127.0.0.1:3000';
/** Setup for snippets that use `tillway` without creating it. */
const TILLWAY = `const tillway = new Tillway({ baseUrl: '${SERVICE_URL}' });`;

const run = promisify(execFile);
const snippets = readmeSnippets();

describe('the README of the SDK', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tillway-readme-'));
  const path = (name: string) => join(folder, name);
  let service: TestService;

  before(async () => {
    process.env['WEBHOOK_SECRET'] = SECRET;
    symlinkSync(join(ROOT, 'node_modules'), path('node_modules'));
    writeFileSync(path('package.json'), '{"type":"module"}');
    writeFileSync(
      path('orders.js'),
      'export const orders = [];\nexport async function fulfil(event) { orders.push(event.id); }\n',
    );
    writeFileSync(
      path('orders.d.ts'),
      "import type { PaymentPaidEvent } from '@tillway/sdk';\nexport function fulfil(event: PaymentPaidEvent): Promise<void>;\n",
    );
    service = await startTestService({ live: true, variables: { TEST_CLOCK: 'true' } });
  });
  after(async () => {
    await service[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true });
  });

  /** Writes a snippet as a complete module; `change` edits its text. */
  function write(name: string, { code }: Snippet, change = (text: string) => text): string {
    const setup = /\btillway\./.test(code) && !code.includes('const tillway =') ? `${TILLWAY}\n` : '';
    const isImported = !/new Tillway/.test(setup + code) || /import \{[^}]*\bTillway\b/.test(code);
    const imports = isImported ? '' : "import { Tillway } from '@tillway/sdk';\n";
    writeFileSync(path(name), change(`${imports}${setup}${code}\nexport {};\n`));
    return path(name);
  }

  /** Runs a snippet with the sources of the SDK as the package. */
  async function load(name: string, snippet: Snippet): Promise<Record<string, unknown>> {
    const file = write(name, snippet, (text) =>
      text.replaceAll("'@tillway/sdk'", `'${SDK}'`).replaceAll(SERVICE_URL, service.url),
    );
    return (await import(pathToFileURL(file).href)) as Record<string, unknown>;
  }

  test('the README of the SDK has a webhook handler for each framework, and other code', () => {
    const headings = snippets.map(({ heading }) => heading);
    for (const heading of HANDLERS) assert.ok(headings.includes(heading), heading);
    assert.ok(snippets.length > HANDLERS.length + 5);
  });

  test('all code in the README of the SDK compiles', async () => {
    const files = snippets.map((snippet, index) => write(`typed-${index}.ts`, snippet));
    const config = {
      extends: join(ROOT, 'tsconfig.json'),
      compilerOptions: {
        lib: ['es2024', 'dom'],
        types: ['node'],
        typeRoots: [join(ROOT, 'node_modules/@types')],
        paths: { '@tillway/sdk': [join(ROOT, 'sdk/src/index.ts')] },
      },
      files,
      include: [],
    };
    writeFileSync(path('tsconfig.json'), JSON.stringify(config));
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    await run(process.execPath, [tsc, '-p', folder]).catch((error: { stdout: string }) => {
      assert.fail(error.stdout);
    });
  });

  for (const [index, snippet] of snippets.entries()) {
    if (HANDLERS.includes(snippet.heading)) continue;
    test(`the README code under "${snippet.heading}" prints the output that its comments show`, async (context) => {
      const printed: string[] = [];
      const log = context.mock.method(console, 'log', (...values: unknown[]) => void printed.push(values.join(' ')));
      await load(`run-${index}.ts`, snippet);
      log.mock.restore();
      const documented = documentedOutput(snippet.code);
      assert.ok(documented.length > 0);
      assert.equal(printed.length, documented.length, printed.join('\n'));
      for (const [line, text] of printed.entries()) {
        assert.match(text.replace(service.url, SERVICE_URL), documented[line]!);
      }
    });
  }

  for (const heading of HANDLERS) {
    test(`the README handler for ${heading} processes a signed event, and rejects every other request`, async (context) => {
      context.mock.method(console, 'error', () => undefined);
      const snippet = snippets.find((each) => each.heading === heading)!;
      const handle = await handlerOf(context, heading, await load(`${heading}.ts`, snippet));
      const { orders } = (await import(pathToFileURL(path('orders.js')).href)) as { orders: string[] };
      const post = async (headers: Record<string, string>, body: string) => {
        orders.length = 0;
        const { status } = await handle({ method: 'POST', headers, body });
        return [status, orders.length];
      };
      const send = async (type: 'payment.paid' | 'payment.failed', change = (body: string) => body) => {
        // The body is not the output of JSON.stringify and not only ASCII, so the handler must verify its raw bytes.
        const event = webhooks.sampleEvent(type, { data: { metadata: { note: 'größer €' } } });
        const signed = await webhooks.sign({ rawBody: `${JSON.stringify(event, null, 1)}\n`, secret: SECRET });
        return post(signed.headers, change(signed.body));
      };
      assert.deepEqual(await send('payment.paid'), [200, 1]);
      assert.deepEqual(await send('payment.failed'), [200, 0]);
      assert.deepEqual(await send('payment.paid', (body) => body.replace('49.99', '0.01')), [400, 0]);
      for (const body of ['{}', '{']) {
        assert.deepEqual(await post({ 'content-type': 'application/json' }, body), [400, 0]);
      }
    });
  }
});

type Handler = (request: RequestInit) => Response | Promise<Response>;

/** Returns a function that sends requests to the handler of a snippet. */
async function handlerOf(context: TestContext, heading: string, module: Record<string, unknown>): Promise<Handler> {
  const path = '/webhooks/tillway';
  if (heading === 'Hono') return (request) => (module['app'] as Hono).request(path, request);
  if (heading === 'Fetch') {
    return (request) => (module['POST'] as typeof fetch)(new Request(`https://shop.example${path}`, request));
  }
  const isFastify = heading === 'Fastify';
  if (isFastify) await (module['app'] as FastifyInstance).ready();
  const server = await startServer(isFastify ? (module['app'] as FastifyInstance).routing : (module['app'] as Express));
  context.after(() => server[Symbol.asyncDispose]());
  return (request) => fetch(server.url + path, request);
}
