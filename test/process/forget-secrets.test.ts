// @run on=sqlite,postgres needs=process
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import { type TestService, call, startTestService } from '../support/service.ts';
import { assertSound } from '../support/sound.ts';
import { tillway } from './program.ts';

const [KEY, OTHER] = [randomBytes(32), randomBytes(32)].map((bytes) => bytes.toString('base64')) as [string, string];
const START = 'ENCRYPTION_KEY does not open the webhook secrets';

interface Endpoint {
  id: string;
  status: string;
  disabledReason: string | null;
  secret?: string;
}

async function forget(on: TestService, key: string, ...args: string[]) {
  const env = { DATABASE_URL: on.databaseUrl, ENCRYPTION_KEY: key };
  return tillway(env, 'endpoints', 'forget-secrets', ...args);
}

const ask = <Body = Endpoint>(on: TestService, method: string, rest: string, body?: unknown) =>
  call<Body>(method, `${on.url}/api/gateway/webhook-endpoints${rest}`, body);

describe('tillway endpoints forget-secrets', () => {
  it('is the way out where the key is lost: what no key opens is dropped, and a new secret enables the endpoint', async () => {
    await using before = await startTestService({ variables: { ENCRYPTION_KEY: KEY } });
    const { id, secret } = (await ask(before, 'POST', '', { url: 'https://shop.example/webhooks' })).body;
    const lost = { beside: before, variables: { ENCRYPTION_KEY: OTHER } };
    await assert.rejects(startTestService(lost), (error: Error) =>
      [START, 'tillway endpoints forget-secrets'].every((words) => error.message.includes(words)),
    );

    const nothing = await forget(before, KEY, '--yes');
    assert.deepEqual([nothing.code, nothing.stderr], [0, '']);
    assert.match(nothing.stdout, /^Database: .*\nOne key was tried\. Every secret opens/);

    const asked = await forget(before, OTHER);
    assert.equal(asked.code, 1);
    assert.match(asked.stdout, new RegExp(`^${id} +sandbox +1 +disabled +https://shop\\.example/webhooks`, 'm'));
    assert.match(asked.stderr, /Nothing was changed: --yes/);
    await assert.rejects(startTestService(lost), new RegExp(START));

    const done = await forget(before, OTHER, '--yes', '--json');
    assert.deepEqual([done.code, done.stderr.startsWith('Database: ')], [0, true], done.stderr);
    const endpoint = { id, url: 'https://shop.example/webhooks', environment: 'sandbox', secrets: 1, isDisabled: true };
    assert.deepEqual(JSON.parse(done.stdout), { forgotten: true, endpoints: [endpoint] });

    await using after = await startTestService(lost);
    const { status, disabledReason } = (await ask(after, 'GET', `/${id}`)).body;
    assert.deepEqual(
      [status, disabledReason],
      ['disabled', 'its secret could not be opened: rotate it, then enable it'],
    );
    await assertSound(after.databaseUrl);
    for (const [method, rest, body] of [
      ['PATCH', '', { status: 'active' }],
      ['POST', '/test', undefined],
    ] as const) {
      const refused = await ask<{ error: { suggestion: string } }>(after, method, `/${id}${rest}`, body);
      assert.equal(refused.status, 409);
      assert.ok(refused.body.error.suggestion.includes(`tillway endpoints rotate-secret ${id}`));
    }
    const rotated = (await ask(after, 'POST', `/${id}/rotate-secret`, {})).body;
    assert.notEqual(rotated.secret, secret);
    assert.equal((await ask(after, 'PATCH', `/${id}`, { status: 'active' })).body.status, 'active');
  });

  it('drops an earlier secret alone where the newest opens: its endpoint goes on', async () => {
    await using first = await startTestService({ variables: { ENCRYPTION_KEY: KEY } });
    const { id } = (await ask(first, 'POST', '', { url: 'https://shop.example/webhooks' })).body;
    // An instance that runs on with the key that is about to be lost, and one that has another besides.
    const both = { ENCRYPTION_KEY: `${KEY},${OTHER}` };
    await using second = await startTestService({ beside: first, variables: both });
    const { store } = second.service.deps;
    const [sealed] = await store.sealedSecrets();
    await ask(second, 'POST', `/${id}/rotate-secret`, {});
    const damaged = { ...sealed!, expiresAt: (await store.endpointSecrets([id]))[0]!.expiresAt };
    await store.commit([{ type: 'secret_resealed', secret: damaged, sealed: `v1.${'A'.repeat(80)}` }]);
    const { stdout } = await forget(first, KEY, '--yes');
    assert.match(stdout, /goes on with its newest secret/);
    assert.equal((await store.sealedSecrets()).length, 1);
    assert.equal((await ask(first, 'GET', `/${id}`)).body.status, 'active');
  });
});
