import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AuditEntry, CheckoutSession } from '../../sdk/src/index.ts';
import { dashboardPages } from '../../src/dashboard/dashboard.ts';
import type { PageRoutes } from '../../src/dashboard/visit.ts';
import { machinePrincipal } from '../../src/domain/principal.ts';
import { type AppDeps, createApp } from '../../src/http/app.ts';
import { recordRefusal } from '../../src/operations/access/audit.ts';
import { PermissionRefusal } from '../../src/operations/access/caller.ts';
import { blockCustomer } from '../../src/operations/customers/manage-customers.ts';
import { gatewayOf, pick } from '../support/gateway.ts';
import { sessionBody, startTestService } from '../support/service.ts';

const EVIL = '<script>alert(1)</script>';

/** A page with a form that blocks a customer, and one that a role forbids. */
function blockPage(routes: PageRoutes): void {
  routes.get('/block', async ({ formToken }) => ({ title: 'Block', main: formToken }));
  routes.post('/customers/:customerId/block', 'blockCustomer', async ({ deps, param, path }) => {
    await blockCustomer(deps, param('customerId'), 'a@example.com');
    return { goTo: path('') };
  });
  routes.post('/customers/:customerId/refuse', 'blockCustomer', async () => {
    throw new PermissionRefusal('forbidden', 'not allowed');
  });
}

describe('the audit in the dashboard', () => {
  it('every form leaves one entry with its person, and a refused form one of its own', async () => {
    await using test = await startTestService();
    const { customerId } = await gatewayOf(test).post<CheckoutSession>('sessions', sessionBody());
    const app = await createApp(test.service.deps as AppDeps, [(on, deps) => dashboardPages(on, deps, [blockPage])]);
    const { body: page } = await app.inject('/dashboard/sandbox/block');
    const token = /name="token"\s+value="([^"]+)"/.exec(page)![1]!;
    const send = async (action: string, fields: Record<string, string>) => {
      const url = `/dashboard/sandbox/customers/${customerId}/${action}`;
      const headers = { 'content-type': 'application/x-www-form-urlencoded' };
      return (await app.inject({ method: 'POST', url, headers, payload: new URLSearchParams(fields).toString() }))
        .statusCode;
    };
    assert.equal(await send('block', {}), 403);
    assert.equal(await send('block', { token }), 303);
    assert.equal(await send('block', { token }), 303);
    assert.equal(await send('refuse', { token }), 403);
    assert.deepEqual(
      pick(
        await gatewayOf(test).list<AuditEntry>('audit'),
        'action',
        'actorKind',
        'subjectId',
        'outcome',
        'environment',
      ),
      [
        ['blockCustomer', 'machine', customerId, 'refused', 'sandbox'],
        ['blockCustomer', 'machine', customerId, 'done', 'sandbox'],
      ],
    );
    await app.close();
  });

  it('the page shows 50 entries, filters by person, record and action, and leads to older ones', async () => {
    await using test = await startTestService();
    const { store, newId } = test.service.deps;
    const caller = { ...machinePrincipal('sandbox'), kind: 'operator' as const, id: 'op"1', name: EVIL };
    for (let count = 0; count < 51; count++) {
      await recordRefusal({ store, newId, caller }, { action: 'createRefund', kind: 'change' });
    }
    test.clock.advance(86_400_000);
    const { id } = await gatewayOf(test).post<CheckoutSession>('sessions', sessionBody());
    await gatewayOf(test).post(`sessions/${id}/expire`);
    const read = async (query: string) => {
      const response = await fetch(`${test.url}/dashboard/sandbox/audit${query}`, { headers: { accept: 'text/html' } });
      const page = await response.text();
      const older = /href="([^"]+)">Older/.exec(page)?.[1]?.replaceAll('&amp;', '&');
      return { status: response.status, page, rows: page.split('data-label="Who"').length - 1, older };
    };
    const first = await read('');
    assert.deepEqual([first.status, first.rows], [200, 50]);
    assert.ok(!first.page.includes(EVIL) && first.page.includes('&lt;script&gt;'));
    assert.equal((await read(first.older!)).rows, 2);
    assert.equal((await read('?startingAfter=nothing')).status, 400);
    assert.equal((await read('?actorId=op%221')).rows, 50);
    assert.equal((await read(`?subjectId=${id}`)).rows, 1);
    assert.equal((await read('?action=expireSession')).rows, 1);
  });
});
