import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { visit } from '../support/operators.ts';
import { sendRaw } from '../support/raw-http.ts';
import { startTestService } from '../support/service.ts';

describe('the address of the dashboard', () => {
  it('is not found with DASHBOARD=false, and on a host name other than the one of DASHBOARD_URL', async () => {
    await using none = await startTestService({ variables: { DASHBOARD: 'false' } });
    assert.equal((await visit(`${none.url}/dashboard/sandbox`)).status, 404);
    const variables = { DASHBOARD_URL: 'https://ops.example', ALLOW_UNAUTHENTICATED: 'true' };
    await using named = await startTestService({ variables });
    const ask = async (host: string) => {
      const sent = `GET /dashboard/login HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
      return (await sendRaw(named.url, sent)).status;
    };
    assert.equal(await ask('ops.example'), 200);
    for (const host of ['localhost', '127.0.0.1']) assert.equal(await ask(host), 404, host);
  });

  it('is linked on the front page, unless the dashboard is off or has another address', async () => {
    const isLinked = async (variables: Record<string, string>) => {
      await using test = await startTestService({ variables });
      return (await (await fetch(test.url, { redirect: 'manual' })).text()).includes('href="/dashboard"');
    };
    assert.equal(await isLinked({}), true);
    assert.equal(await isLinked({ DASHBOARD: 'false' }), false);
    const exposed = { BASE_URL: 'https://pay.example', ALLOW_UNAUTHENTICATED: 'true' };
    assert.equal(await isLinked(exposed), true);
    assert.equal(await isLinked({ ...exposed, DASHBOARD_URL: 'https://ops.example' }), false);
  });

  it('is never open if other machines reach it', async () => {
    const variables = {
      BASE_URL: 'https://127.0.0.1',
      DASHBOARD_URL: 'https://ops.example',
      ALLOW_UNAUTHENTICATED: 'true',
    };
    await using test = await startTestService({ variables });
    const sent = 'GET /dashboard/sandbox HTTP/1.1\r\nHost: ops.example\r\nConnection: close\r\n\r\n';
    const { status } = await sendRaw(test.url, sent);
    assert.equal(status, 303);
  });
});
