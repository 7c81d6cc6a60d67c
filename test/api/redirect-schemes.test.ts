// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callTool } from '../mcp/rpc.ts';
import { createSession } from '../simulator/buyer.ts';
import { ADMIN, BOOTSTRAP, bearer, makeKey } from '../support/keys.ts';
import { providerSays } from '../support/money-arrives.ts';
import type { Refusal } from '../support/refusal.ts';
import { type TestService, call, sessionBody, startTestService } from '../support/service.ts';

const ALWAYS = ['https://shop.example/thanks', 'com.example.app:/done', 'http://127.0.0.1:8080/done'];
const NAMED = ['myapp:done', 'otherapp://done'];
// test/contract/fields.test.ts has every scheme.
const NEVER = ['smb://shop.example/share', 'itms-services://?action=download-manifest', 'javascript:alert(1)'];

/** Sends a body to every operation that creates or previews a session; returns whether each one accepted it. */
async function offered({ url }: TestService, body: object, headers: Record<string, string> = {}): Promise<boolean[]> {
  const paths = ['gateway/sessions', 'agent/actions/checkout.preview', 'agent/actions/checkout.create'];
  const answers = await Promise.all(
    paths.map(async (path) => {
      const { status, body: answer } = await call<Refusal>('POST', `${url}/api/${path}`, body, headers);
      if (status === 200) return true;
      const issue = answer.error.issues[0];
      assert.deepEqual([status, issue?.path, issue?.code], [400, 'redirectUrl', 'invalid_format'], path);
      return false;
    }),
  );
  // The test calls the tools without a key.
  if (Object.keys(headers).length > 0) return answers;
  const tools = ['checkout_preview', 'checkout_create'];
  return [
    ...answers,
    ...(await Promise.all(tools.map(async (tool) => (await callTool(url, tool, body)).structuredContent.ok))),
  ];
}

test('a redirectUrl may use https, http, an app scheme with a dot, or a scheme named by the operator', async () => {
  await using usual = await startTestService();
  await using naming = await startTestService({ variables: { REDIRECT_SCHEMES: 'myapp, OtherApp' } });
  for (const [service, taken, refused] of [
    [usual, ALWAYS, [...NAMED, ...NEVER]],
    [naming, [...ALWAYS, ...NAMED], NEVER],
  ] as const) {
    for (const redirectUrl of [...taken, ...refused]) {
      const answers = new Set(await offered(service, sessionBody({ redirectUrl })));
      assert.deepEqual(answers, new Set([taken.includes(redirectUrl)]), redirectUrl);
    }
  }
});

test('in production http is allowed for loopback only, and an agent key allows no other scheme', async () => {
  await using service = await startTestService({ variables: BOOTSTRAP });
  const production = bearer(ADMIN.production);
  const agent = bearer(await makeKey(service.url, 'sandbox', { scope: 'agent', spendPerDay: 1000 }));
  const plain = sessionBody({ redirectUrl: 'http://shop.example/', environment: 'production' });
  assert.deepEqual(await offered(service, plain, production), [false, false, false]);
  const local = sessionBody({ redirectUrl: 'http://localhost/', environment: 'production' });
  assert.deepEqual(await offered(service, local, production), [true, true, true]);
  for (const redirectUrl of NEVER)
    assert.deepEqual(await offered(service, sessionBody({ redirectUrl }), agent), [false, false, false], redirectUrl);
});

test('the page of a stored session does not link to a scheme that is no longer allowed', async () => {
  await using naming = await startTestService({ variables: { REDIRECT_SCHEMES: 'myapp' } });
  await using usual = await startTestService({ beside: naming });
  const id = await createSession(naming, { redirectUrl: 'myapp:done' });
  const pageOf = async ({ url }: TestService) => (await fetch(`${url}/checkout/${id}`)).text();
  const assertLinks = async () => {
    assert.match(await pageOf(naming), /href="myapp:done/);
    assert.doesNotMatch(await pageOf(usual), /myapp/);
  };
  await assertLinks();
  // The final page links back to the merchant; the first one offers to cancel.
  await providerSays(naming, id, 'paid');
  await assertLinks();
});
