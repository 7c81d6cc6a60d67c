// @run needs=process
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { OpenApi } from '../../src/contract/openapi-document.ts';
import { startTestService } from '../support/service.ts';
import { toolPath } from '../support/tools.ts';

const TSC = fileURLToPath(new URL('../../node_modules/.bin/tsc', import.meta.url));
/** A client function with the request and response types of all operations. */
const CLIENT = `import type { components, operations } from './api.d.ts';
type Content<Part> = Part extends { content: { 'application/json': infer Body } } ? Body : never;
type Body<Id extends keyof operations> = Content<NonNullable<operations[Id]['requestBody']>>;
type Answer<Id extends keyof operations> = Content<operations[Id]['responses'][200]>;
declare function send<Id extends keyof operations>(id: Id, body: Body<Id>): Promise<Answer<Id>>;
`;

/** Statements that read responses, and calls that must not compile. */
const READS = `const body = { product: 'Field guide', amount: 49.99, customer: 'buyer@example.com' };
const session = await send('createSession', body);
const url: string = session.checkoutUrl;
const list: components['schemas']['PaymentList'] = { object: 'list', data: [], hasMore: false };
const status: 'pending' | 'paid' | 'failed' | undefined = list.data[0]?.status;
// @ts-expect-error -- a missing field
send('createSession', { product: 'Field guide', amount: 49.99 });
// @ts-expect-error -- a field of another type
send('createSession', { ...body, amount: '49.99' });
// @ts-expect-error -- an unknown field
send('createSession', { colour: 1, product: 'Field guide', amount: 49.99, customer: 'buyer@example.com' });
export { url, status };`;

const service = await startTestService();
const folder = mkdtempSync(join(tmpdir(), 'tillway-types-'));
after(async () => {
  rmSync(folder, { recursive: true });
  await service[Symbol.asyncDispose]();
});

describe('types that openapi-typescript generates from the served document', () => {
  test('types generated from OpenAPI accept the example and the smallest body of every operation, and reject invalid bodies', async () => {
    const text = await (await fetch(`${service.url}/openapi.json`)).text();
    const api = JSON.parse(text) as OpenApi;
    await writeFile(join(folder, 'openapi.json'), text);
    const generated = await run(toolPath('openapi-typescript'), 'openapi.json', '--output', 'api.d.ts');
    assert.equal(generated.code, 0, generated.output);
    const calls = Object.values(api.paths).flatMap((methods) =>
      Object.values(methods).flatMap(({ operationId, requestBody }) => {
        const content = requestBody?.content['application/json'];
        const schema = api.components.schemas[content?.schema.$ref?.split('/').at(-1) ?? ''];
        if (!content || !schema) return [];
        const example = content.example as Record<string, unknown>;
        const smallest = Object.fromEntries((schema.required ?? []).map((name) => [name, example[name]]));
        return [example, smallest].map((body) => `send('${operationId}', ${JSON.stringify(body)});`);
      }),
    );
    assert.ok(calls.length >= 40, `${calls.length} calls`);
    const { code, output } = await compile([...calls, READS].join('\n'));
    assert.equal(code, 0, output);
  });

  async function compile(source: string) {
    await writeFile(join(folder, 'client.mts'), CLIENT + source);
    const options = ['--strict', '--exactOptionalPropertyTypes', '--target', 'esnext', '--module', 'nodenext'];
    return run(TSC, ...options, '--noEmit', '--allowImportingTsExtensions', '--types', '', 'client.mts');
  }

  function run(program: string, ...options: string[]): Promise<{ code: number; output: string }> {
    return new Promise((resolve) => {
      execFile(process.execPath, [program, ...options], { cwd: folder }, (error, stdout, stderr) =>
        resolve({ code: error ? Number(error.code ?? 1) : 0, output: stdout + stderr }),
      );
    });
  }
});
