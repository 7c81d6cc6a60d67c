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

const requestEndpoint = <Body = Endpoint>(on: TestService, method: string, rest: string, body?: unknown) =>
  call<Body>(method, `${on.url}/api/gateway/webhook-endpoints${rest}`, body);

describe('tillway endpoints forget-secrets', () => {
  it('forget-secrets deletes secrets that no key decrypts and disables their endpoints, which can be enabled after a rotation', async () => {
    await using before = await startTestService({ variables: { ENCRYPTION_KEY: KEY } });
    const { id, secret } = (await requestEndpoint(before, 'POST', '', { url: 'https://shop.example/webhooks' })).body;
    const withOtherKey = { beside: before, variables: { ENCRYPTION_KEY: OTHER } };
    await assert.rejects(startTestService(withOtherKey), (error: Error) =>
      [START, 'tillway endpoints forget-secrets'].every((words) => error.message.includes(words)),
    );

    const nothing = await forget(before, KEY, '--yes');
    assert.deepEqual([nothing.code, nothing.stderr], [0, '']);
    assert.match(nothing.stdout, /^Database: .*\nTried one key\. All secrets can be decrypted/);

    const withoutYes = await forget(before, OTHER);
    assert.equal(withoutYes.code, 1);
    assert.match(withoutYes.stdout, new RegExp(`^${id} +sandbox +1 +disabled +https://shop\\.example/webhooks`, 'm'));
    assert.match(withoutYes.stderr, /Nothing was changed\. Add --yes/);
    await assert.rejects(startTestService(withOtherKey), new RegExp(START));

    const endpoint = { id, url: 'https://shop.example/webhooks', environment: 'sandbox', secrets: 1, isDisabled: true };
    const listed = await forget(before, OTHER, '--json');
    assert.equal(listed.code, 1);
    assert.deepEqual(JSON.parse(listed.stdout), { forgotten: false, endpoints: [endpoint] });

    const done = await forget(before, OTHER, '--yes', '--json');
    assert.deepEqual([done.code, done.stderr.startsWith('Database: ')], [0, true], done.stderr);
    assert.deepEqual(JSON.parse(done.stdout), { forgotten: true, endpoints: [endpoint] });

    await using after = await startTestService(withOtherKey);
    const { status, disabledReason } = (await requestEndpoint(after, 'GET', `/${id}`)).body;
    assert.deepEqual(
      [status, disabledReason],
      ['disabled', 'its secret could not be opened: rotate it, then enable it'],
    );
    await assertSound(after.databaseUrl);
    for (const [method, rest, body] of [
      ['PATCH', '', { status: 'active' }],
      ['POST', '/test', undefined],
    ] as const) {
      const refused = await requestEndpoint<{ error: { suggestion: string } }>(after, method, `/${id}${rest}`, body);
      assert.equal(refused.status, 409);
      assert.ok(refused.body.error.suggestion.includes(`tillway endpoints rotate-secret ${id}`));
    }
    const rotated = (await requestEndpoint(after, 'POST', `/${id}/rotate-secret`, {})).body;
    assert.notEqual(rotated.secret, secret);
    assert.equal((await requestEndpoint(after, 'PATCH', `/${id}`, { status: 'active' })).body.status, 'active');
  });

  it('forget-secrets deletes only an earlier secret if a key decrypts the newest secret, and leaves the endpoint active', async () => {
    await using first = await startTestService({ variables: { ENCRYPTION_KEY: KEY } });
    const { id } = (await requestEndpoint(first, 'POST', '', { url: 'https://shop.example/webhooks' })).body;
    // The first instance has one key; the second instance has the same key and a second key.
    const both = { ENCRYPTION_KEY: `${KEY},${OTHER}` };
    await using second = await startTestService({ beside: first, variables: both });
    const { store } = second.service.deps;
    const [sealed] = await store.sealedSecrets();
    await requestEndpoint(second, 'POST', `/${id}/rotate-secret`, {});
    const damaged = { ...sealed!, expiresAt: (await store.endpointSecrets([id]))[0]!.expiresAt };
    await store.commit([{ type: 'secret_resealed', secret: damaged, sealed: `v1.${'A'.repeat(80)}` }]);
    const { stdout } = await forget(first, KEY, '--yes');
    assert.match(stdout, /continues with its newest secret/);
    assert.equal((await store.sealedSecrets()).length, 1);
    assert.equal((await requestEndpoint(first, 'GET', `/${id}`)).body.status, 'active');
  });
});
