import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jsonSchemaOf } from '../../src/contract/json-schema.ts';
import type { AppDeps } from '../../src/http/app.ts';
import { servedEndpoints } from '../../src/http/openapi-endpoint.ts';
import { TOOLS } from '../../src/operations/registry.ts';
import { type Body, bodyOf, edited, omittableFields, repaired } from '../support/agent-client.ts';
import { ADMIN, BOOTSTRAP, bearer } from '../support/keys.ts';
import { refused } from '../support/refusal.ts';
import { startTestService } from '../support/service.ts';
import { suiteService } from '../support/suite.ts';
import { callTool } from '../mcp/rpc.ts';

/** URL of an endpoint whose path parameters are the documented examples. */
function urlOf(base: string, path: string, params: Record<string, { example: string }> = {}): string {
  return base + path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name]!.example));
}

test('over REST, null in an optional field of any operation is rejected, and the error says to omit the field', async (t) => {
  await using service = await startTestService({ variables: { TEST_CLOCK: 'true', ...BOOTSTRAP } });
  let count = 0;
  for (const { operationId, method, path, params, body, bodyType } of servedEndpoints(
    service.service.deps as AppDeps,
  )) {
    if (!body || bodyType) continue;
    const schema = jsonSchemaOf(body, 'input');
    const url = urlOf(service.url, path, params);
    for (const field of omittableFields(schema)) {
      const name = field.join('.');
      const sent = edited(bodyOf(schema, 'required'), field, null);
      const error = await refused([400, 'invalid_input'], method, url, sent, bearer(ADMIN.sandbox));
      const issue = error.issues.find((each) => each.path === name);
      assert.equal(issue?.code, 'invalid_type', `${operationId}: ${name} ${JSON.stringify(error)}`);
      assert.match(issue.message, /omit this field/, `${operationId}: ${name}`);
      assert.deepEqual(repaired(sent, error), edited(sent, field, undefined), `${operationId}: ${name}`);
      count++;
    }
  }
  t.diagnostic(`${count} combinations of operation and optional field`);
  assert(count > 0);
});

const service = suiteService();

test('over MCP, null counts as absent in every optional field of every tool', async (t) => {
  let calls = 0;
  for (const { name, input } of TOOLS) {
    const schema = jsonSchemaOf(input, 'input');
    const tool = name.replaceAll('.', '_');
    const required = bodyOf(schema, 'required');
    const fields = omittableFields(schema);
    const all = fields.reduce<Body>((body, path) => edited(body, path, null), required);
    const expected = (await callTool(service.url, tool, required)).structuredContent;
    for (const body of [...fields.map((path) => edited(required, path, null)), all]) {
      const { ok, error } = (await callTool(service.url, tool, body)).structuredContent;
      const what = `${name} ${JSON.stringify(body)}: ${JSON.stringify(error)}`;
      assert.deepEqual([ok, error?.code], [expected.ok, expected.error?.code], what);
      calls++;
    }
  }
  t.diagnostic(`${calls} calls`);
  assert(calls > 0);
});

test('over MCP, null stays a value in nullable fields and in unknown fields', async () => {
  const example = await callTool(service.url, 'webhook_example', { txHash: null });
  const { data } = example.structuredContent.result!['payload'] as { data: { tx_hash: string | null } };
  assert.equal(data.tx_hash, null);
  const unknown = await callTool(service.url, 'fees_estimate', { amount: 5, colour: null });
  assert.deepEqual(
    unknown.structuredContent.error?.issues?.map(({ path }) => path),
    ['colour'],
  );
  const missing = await callTool(service.url, 'fees_estimate', { amount: null });
  assert.match(missing.structuredContent.error!.message, /^amount: .*it is missing/);
  const sale = { product: 'Field guide', amount: 5, customer: 'buyer@example.com', metadata: { a: 'b', c: null } };
  const { result } = (await callTool(service.url, 'checkout_create', sale)).structuredContent;
  const { metadata } = (await service.service.deps.store.session(String(result!['id'])))!;
  assert.deepEqual(metadata, { a: 'b' });
});
