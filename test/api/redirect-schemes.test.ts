import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callTool } from '../mcp/rpc.ts';
import { createSession } from '../simulator/buyer.ts';
import { providerSays } from '../support/money-arrives.ts';
import type { Refusal } from '../support/refusal.ts';
import { type TestService, call, sessionBody, startTestService } from '../support/service.ts';

const ALWAYS = ['https://shop.example/thanks', 'com.example.app:/done', 'http://127.0.0.1:8080/done'];
const CONFIGURED = ['myapp:done', 'otherapp://done'];
// test/contract/fields.test.ts tests every scheme.
const NEVER = ['smb://shop.example/share', 'itms-services://?action=download-manifest', 'javascript:alert(1)'];

/** Sends a body to every operation that creates or previews a session; returns whether all of them accepted it. */
async function isAccepted({ url }: TestService, body: object, headers: Record<string, string> = {}): Promise<boolean> {
  const paths = ['gateway/sessions', 'agent/actions/checkout.preview', 'agent/actions/checkout.create'];
  const requests = paths.map(async (path) => {
    const { status, body: answer } = await call<Refusal>('POST', `${url}/api/${path}`, body, headers);
    if (status === 200) return true;
    const issue = answer.error.issues[0];
    assert.deepEqual([status, issue?.path, issue?.code], [400, 'redirectUrl', 'invalid_format'], path);
    return false;
  });
  // The test calls MCP tools only without an API key.
  const tools = Object.keys(headers).length > 0 ? [] : ['checkout_preview', 'checkout_create'];
  requests.push(...tools.map(async (tool) => (await callTool(url, tool, body)).structuredContent.ok));
  const [first, ...others] = await Promise.all(requests);
  assert.ok(others.every((answer) => answer === first));
  return first!;
}

test('a redirectUrl may use https, http, an app scheme with a dot, or a scheme from REDIRECT_SCHEMES', async () => {
  await using standard = await startTestService();
  await using configured = await startTestService({ variables: { REDIRECT_SCHEMES: 'myapp, OtherApp' } });
  for (const [service, accepted, refused] of [
    [standard, ALWAYS, [...CONFIGURED, ...NEVER]],
    [configured, [...ALWAYS, ...CONFIGURED], NEVER],
  ] as const) {
    for (const redirectUrl of accepted)
      assert.equal(await isAccepted(service, sessionBody({ redirectUrl })), true, redirectUrl);
    for (const redirectUrl of refused)
      assert.equal(await isAccepted(service, sessionBody({ redirectUrl })), false, redirectUrl);
  }
});

test('the checkout page does not link to a stored redirectUrl whose scheme is no longer allowed', async () => {
  await using configured = await startTestService({ variables: { REDIRECT_SCHEMES: 'myapp' } });
  await using standard = await startTestService({ beside: configured });
  const id = await createSession(configured, { redirectUrl: 'myapp:done' });
  const pageOf = async ({ url }: TestService) => (await fetch(`${url}/checkout/${id}`)).text();
  const assertLinks = async () => {
    assert.match(await pageOf(configured), /href="myapp:done/);
    assert.doesNotMatch(await pageOf(standard), /myapp/);
  };
  await assertLinks();
  // The page of an open session links to the redirectUrl to cancel, the page of a paid session to return.
  await providerSays(configured, id, 'paid');
  await assertLinks();
});
