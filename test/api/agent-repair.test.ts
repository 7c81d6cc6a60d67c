import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Capabilities } from '../../src/contract/capabilities-contract.ts';
import { type Body, bodyOf, repaired, violationsOf } from '../support/agent-client.ts';
import { refused } from '../support/refusal.ts';
import { call } from '../support/service.ts';
import { suiteService } from '../support/suite.ts';

interface Created {
  result: { id: string };
}

const service = suiteService();

const urlOf = (action: string) => `${service.url}/api/agent/actions/${action}`;
const capabilitiesOf = async () => (await call<Capabilities>('GET', `${service.url}/api/agent/capabilities`)).body;

/** Asserts that a body is rejected, and that the same body is accepted after the repair that the error describes. */
async function repair(url: string, body: Body, label = url) {
  const error = await refused([400, 'invalid_input'], 'POST', url, body);
  const again = await call<Created>('POST', url, repaired(body, error));
  assert.equal(again.status, 200, `${label}: ${error.suggestion} -> ${JSON.stringify(again.body)}`);
  return { error, result: again.body.result };
}

test('an error names each violated constraint with its path, and contains enough to repair the body', async (t) => {
  const { actions, schemas } = await capabilitiesOf();
  let violations = 0;
  for (const { name, url, inputSchema } of actions) {
    const schemaUrl = schemas.url.replace('{operation}', name);
    const { idempotencyKey: _key, ...whole } = bodyOf(inputSchema, 'all');
    for (const { what, path, body } of violationsOf(inputSchema, whole)) {
      const label = `${name}: ${path} ${what}`;
      const { error } = await repair(url, body, label);
      const paths = error.issues.map((issue) => issue.path);
      assert(paths.includes(path), `${label}: issues at ${paths.join(', ')}`);
      assert.equal(error.field, paths[0], label);
      assert(error.suggestion.endsWith(schemaUrl), `${label}: ${error.suggestion}`);
      violations++;
    }
  }
  t.diagnostic(`${violations} constraints violated and repaired`);
  assert(violations >= 100);
});

test('one error reports all problems of a body, so that one repair fixes all of them', async () => {
  const { error } = await repair(urlOf('checkout.create'), {
    product: '',
    amount: 10.999,
    customer: 'buyer@',
    redirectUrl: 'javascript:alert(1)',
    metadata: { orderId: 7, note: 'x'.repeat(501) },
    preferredRoute: 'cash',
    colour: 'red',
  });
  assert.deepEqual(Object.fromEntries(error.issues.map(({ path, code }) => [path, code])), {
    amount: 'not_multiple_of',
    colour: 'unrecognized_keys',
    customer: 'invalid_format',
    'metadata.note': 'too_big',
    'metadata.orderId': 'invalid_type',
    preferredRoute: 'invalid_value',
    product: 'too_small',
    redirectUrl: 'invalid_format',
  });
});

test('the error about an unknown route names the existing routes', async () => {
  const { body: listed } = await call<{ routes: { id: string }[] }>('GET', `${service.url}/api/agent/routes`);
  for (const action of ['fees.estimate', 'webhook.example']) {
    const { error } = await repair(urlOf(action), { amount: 20, routeId: 'carrier_pigeon' });
    assert.equal(error.field, 'routeId');
    for (const { id } of listed.routes) assert(error.suggestion.includes(id), id);
  }
});

test('sending the published checkout.create example twice creates two sessions', async () => {
  const { url, example } = (await capabilitiesOf()).actions.find(({ name }) => name === 'checkout.create')!;
  const create = async () => (await call<Created>('POST', url, example.request)).body.result.id;
  assert.notEqual(await create(), await create());
});
