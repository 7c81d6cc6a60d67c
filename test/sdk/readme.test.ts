// @run needs=process
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import type { Express } from 'express';
import type { FastifyInstance } from 'fastify';
import type { Hono } from 'hono';
import { webhooks } from '../../sdk/src/index.ts';
import { type TestService, startTestService } from '../support/service.ts';
import { type Snippet, promisedOutput, readmeSnippets } from './readme.ts';

const SECRET = 'whsec_dGhlIHNlY3JldCBvZiB0aGUgUkVBRE1FIHRlc3Q=';
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const SDK = pathToFileURL(join(ROOT, 'sdk/src/index.ts')).href;
const HANDLERS = ['Express', 'Fastify', 'Hono', 'Fetch'];
const SERVICE_URL = 'http://127.0.0.1:3000';
/** Setup of the snippets after the first one. */
const TILLWAY = `const tillway = new Tillway({ baseUrl: '${SERVICE_URL}' });`;

const run = promisify(execFile);
const snippets = readmeSnippets();

/** A project with the snippets as files, and the module that they import. */
class Project {
  readonly folder = mkdtempSync(join(tmpdir(), 'tillway-readme-'));

  constructor() {
    symlinkSync(join(ROOT, 'node_modules'), join(this.folder, 'node_modules'));
    for (const [name, text] of Object.entries({
      'package.json': '{"type":"module"}',
      'orders.js': 'export const orders = [];\nexport async function fulfil(event) { orders.push(event.id); }\n',
      'orders.d.ts': `import type { PaymentPaidEvent } from '@tillway/sdk';
        export function fulfil(event: PaymentPaidEvent): Promise<void>;`,
    })) {
      writeFileSync(join(this.folder, name), text);
    }
  }

  /** Writes a snippet as a complete module. */
  write(name: string, { code }: Snippet, localised = (text: string) => text): string {
    const setup = /\btillway\./.test(code) && !code.includes('const tillway =') ? `${TILLWAY}\n` : '';
    const isImported = !/new Tillway/.test(setup + code) || /import \{[^}]*\bTillway\b/.test(code);
    const imports = isImported ? '' : "import { Tillway } from '@tillway/sdk';\n";
    const path = join(this.folder, name);
    writeFileSync(path, localised(`${imports}${setup}${code}\nexport {};\n`));
    return path;
  }

  /** Runs a snippet with the sources of the SDK as the package. */
  async load<Module>(name: string, snippet: Snippet, serviceUrl = SERVICE_URL): Promise<Module> {
    const path = this.write(name, snippet, (text) =>
      text.replaceAll("'@tillway/sdk'", `'${SDK}'`).replaceAll(SERVICE_URL, serviceUrl),
    );
    return (await import(pathToFileURL(path).href)) as Module;
  }

  async orders(): Promise<string[]> {
    const path = pathToFileURL(join(this.folder, 'orders.js')).href;
    return ((await import(path)) as { orders: string[] }).orders;
  }
}

describe('the README of the SDK', () => {
  let project: Project;
  let service: TestService;

  before(async () => {
    process.env['WEBHOOK_SECRET'] = SECRET;
    project = new Project();
    service = await startTestService({ live: true, variables: { TEST_CLOCK: 'true' } });
  });
  after(async () => {
    await service[Symbol.asyncDispose]();
    rmSync(project.folder, { recursive: true });
  });

  test('has a handler for each framework, and other code', () => {
    const headings = snippets.map(({ heading }) => heading);
    for (const heading of HANDLERS) assert.ok(headings.includes(heading), heading);
    assert.ok(snippets.length > HANDLERS.length + 5);
  });

  test('has code that compiles', async () => {
    const files = snippets.map((snippet, index) => project.write(`typed-${index}.ts`, snippet));
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
    writeFileSync(join(project.folder, 'tsconfig.json'), JSON.stringify(config));
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    await run(process.execPath, [tsc, '-p', project.folder]).catch((error: { stdout: string }) => {
      assert.fail(error.stdout);
    });
  });

  for (const [index, snippet] of snippets.entries()) {
    if (HANDLERS.includes(snippet.heading)) continue;
    test(`${snippet.heading}: prints its comments`, async (context) => {
      const printed: string[] = [];
      const log = context.mock.method(console, 'log', (...values: unknown[]) => void printed.push(values.join(' ')));
      await project.load(`run-${index}.ts`, snippet, service.url);
      log.mock.restore();
      const promised = promisedOutput(snippet.code);
      assert.ok(promised.length > 0);
      assert.equal(printed.length, promised.length, printed.join('\n'));
      for (const [line, text] of printed.entries()) {
        assert.match(text.replace(service.url, SERVICE_URL), promised[line]!);
      }
    });
  }

  for (const heading of HANDLERS) {
    test(`the handler for ${heading} processes a genuine event, and rejects every other request`, async (context) => {
      context.mock.method(console, 'error', () => undefined);
      const snippet = snippets.find((each) => each.heading === heading)!;
      const module = await project.load<Record<string, unknown>>(`${heading}.ts`, snippet);
      await using handler = await serve(heading, module);
      const orders = await project.orders();
      const send = async (type: 'payment.paid' | 'payment.failed', change = (body: string) => body) => {
        orders.length = 0;
        // Not the bytes of JSON.stringify, and not only ASCII.
        const event = webhooks.sampleEvent(type, { data: { metadata: { note: 'größer €' } } });
        const signed = await webhooks.sign({ rawBody: `${JSON.stringify(event, null, 1)}\n`, secret: SECRET });
        return handler.post(signed.headers, change(signed.body));
      };
      assert.deepEqual([await send('payment.paid'), orders.length], [200, 1]);
      assert.deepEqual([await send('payment.failed'), orders.length], [200, 0]);
      assert.deepEqual([await send('payment.paid', (body) => body.replace('49.99', '0.01')), orders.length], [400, 0]);
      for (const body of ['{}', '{']) {
        assert.deepEqual([await handler.post({ 'content-type': 'application/json' }, body), orders.length], [400, 0]);
      }
    });
  }
});

interface Handler extends AsyncDisposable {
  /** Answers the status. */
  post(headers: Record<string, string>, body: string): Promise<number>;
}

/** A server for the exports of a snippet. */
async function serve(heading: string, module: Record<string, unknown>): Promise<Handler> {
  let origin = 'https://shop.example';
  let answer: (request: Request) => Response | Promise<Response> = (request) => fetch(request);
  let close = (): unknown => undefined;
  if (heading === 'Express') {
    const server = (module['app'] as Express).listen(0, '127.0.0.1');
    await once(server, 'listening');
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    close = () => {
      server.closeAllConnections();
      server.close();
    };
  } else if (heading === 'Fastify') {
    const app = module['app'] as FastifyInstance;
    origin = await app.listen({ port: 0, host: '127.0.0.1' });
    close = () => app.close();
  } else if (heading === 'Hono') answer = (request) => (module['app'] as Hono).fetch(request);
  else answer = module['POST'] as typeof answer;
  return {
    post: async (headers, body) =>
      (await answer(new Request(`${origin}/webhooks/tillway`, { method: 'POST', headers, body }))).status,
    [Symbol.asyncDispose]: async () => void (await close()),
  };
}
