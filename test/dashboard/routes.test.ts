import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import { ROLES, type Role } from '../../src/domain/permission.ts';
import { ENVIRONMENTS, type Environment } from '../../src/domain/route.ts';
import { createCheckout } from '../../src/operations/create-checkout.ts';
import { changeRoles } from '../../src/operations/access/operators.ts';
import { dashboardRoutes } from '../support/dashboard-routes.ts';
import { type Person, formTokenOf, invitePerson, joinPerson, loginDepsOf, visit } from '../support/operators.ts';
import { aPayment, anInvoice, idOf } from '../fixtures/checkout-records.ts';
import { type TestService, startTestService } from '../support/service.ts';

type Statuses = Record<Role, number>;

const all = (status: number): Statuses => ({ viewer: status, support: status, operator: status, admin: status });
/** Statuses of a route for everybody but viewers. */
const helpers = (status: number): Statuses => ({ ...all(status), viewer: 403 });
/** Statuses of a route for operators and admins. */
const operators = (status: number): Statuses => ({ ...helpers(status), support: 403 });
/** Statuses of a route that only admins may use. */
const admins = (status: number): Statuses => ({ ...all(403), admin: status });

interface Sent {
  params?: Record<string, string>;
  form?: Record<string, string>;
}

interface Expected {
  /** Status for a person with that role in that environment. */
  production: Statuses;
  sandbox: Statuses;
  /** Parameters of the path, and fields of the form, for one request. */
  sent?(test: TestService, environment: Environment): Promise<Sent>;
}

const everywhere = (statuses: Statuses, sent?: Expected['sent']): Expected => ({
  production: statuses,
  sandbox: statuses,
  ...(sent && { sent }),
});
/** Operators are managed in Live only. */
const managed = (status: number, sent?: Expected['sent']): Expected => {
  return { production: admins(status), sandbox: all(403), ...(sent && { sent }) };
};

let invited = 0;
const roles = { production: 'viewer', sandbox: 'none' };
const ofNewOperator = async (test: TestService) => {
  const { operator } = await invitePerson(test, `person${invited++}@example.com`, { production: 'viewer' });
  return { params: { id: operator.id }, form: roles };
};

/** A new session that no buyer has started. */
const ofSession = async ({ service: { deps } }: TestService, environment: Environment) => {
  const body = {
    product: 'Field guide',
    amount: 20,
    customer: `buyer${invited++}@example.com`,
    metadata: {},
    environment,
  };
  return { params: { id: (await createCheckout(deps, body)).session.id } };
};
/** A new paid payment, and the fields of a form that refunds it. */
const ofPayment = async (test: TestService, environment: Environment) => {
  const { store, newId } = test.service.deps;
  const { params } = await ofSession(test, environment);
  const { session } = (await store.checkout(params.id))!;
  const { customerId, metadata } = session;
  const ids = { sessionId: session.id, customerId, environment, metadata };
  const invoice = anInvoice({
    ...ids,
    id: newId('inv'),
    paymentId: newId('pay'),
    amount: session.amount,
    status: 'paid',
  });
  const paid = aPayment({
    ...ids,
    id: invoice.paymentId,
    invoiceId: invoice.id,
    amount: session.amount,
    status: 'paid',
  });
  await store.commit([
    { type: 'session_changed', session: { ...session, status: 'paid', version: session.version + 1, wakeAt: null } },
    { type: 'payment_created', payment: paid },
    { type: 'invoice_created', invoice },
  ]);
  return { params: { id: paid.id }, form: { key: `walk-${paid.id}`, amount: '1.00' } };
};
const ofNobody = async () => ({ params: { id: idOf('dis', 1) }, form: { action: 'accept', note: 'walk' } });

/** Every route of an environment with its statuses. A new page adds a line. */
const ROUTES: Record<string, Expected> = {
  'GET /dashboard/:environment': everywhere(all(200)),
  'GET /dashboard/:environment/audit': everywhere(all(200)),
  'GET /dashboard/:environment/payments': everywhere(all(200)),
  'GET /dashboard/:environment/payments.csv': everywhere({ ...all(200), support: 403 }),
  'GET /dashboard/:environment/search': everywhere(all(200)),
  'GET /dashboard/:environment/payments/:id': everywhere(all(200), ofSession),
  'POST /dashboard/:environment/payments/:id/resend': everywhere(helpers(404), ofSession),
  'GET /dashboard/:environment/payments/:id/expire': everywhere(helpers(200), ofSession),
  'POST /dashboard/:environment/payments/:id/expire': everywhere(helpers(303), ofSession),
  'GET /dashboard/:environment/payments/:id/block': everywhere(helpers(200), ofSession),
  'POST /dashboard/:environment/payments/:id/block': everywhere(helpers(303), ofSession),
  'GET /dashboard/:environment/payments/:id/unblock': everywhere(helpers(200), ofSession),
  'POST /dashboard/:environment/payments/:id/unblock': everywhere(helpers(303), ofSession),
  'GET /dashboard/:environment/payments/:id/refund': everywhere(helpers(200), ofPayment),
  'POST /dashboard/:environment/payments/:id/refund': everywhere(helpers(303), ofPayment),
  'GET /dashboard/:environment/discrepancies/:id': everywhere(operators(404), ofNobody),
  'POST /dashboard/:environment/discrepancies/:id': everywhere(operators(404), ofNobody),
  'GET /dashboard/:environment/operators': managed(200),
  'POST /dashboard/:environment/operators': managed(200, async () => ({
    form: { ...roles, email: `person${invited++}@example.com` },
  })),
  'POST /dashboard/:environment/operators/:id/roles': managed(303, ofNewOperator),
  'GET /dashboard/:environment/security': everywhere(all(200)),
  'POST /dashboard/:environment/security/factors': everywhere(all(200)),
  'POST /dashboard/:environment/security/passkeys/:id/remove': {
    ...everywhere(all(404)),
    sent: async () => ({ params: { id: 'unknown' } }),
  },
  'POST /dashboard/:environment/security/sessions/:id/end': {
    ...everywhere(all(303)),
    sent: async () => ({ params: { id: 'unknown' } }),
  },
};

/** Routes of no environment, with their statuses without a session and with one of a viewer. */
const PLAIN: Record<string, [without: number, viewer: number]> = {
  'GET /dashboard': [303, 303],
  'GET /dashboard/login': [200, 200],
  'POST /dashboard/login': [403, 403],
  'GET /dashboard/join': [200, 200],
  'POST /dashboard/join': [403, 403],
  'POST /dashboard/challenge': [200, 200],
  'POST /dashboard/logout': [303, 403],
};

const unnamed = (routes: readonly string[]) => routes.filter((route) => !(route in ROUTES) && !(route in PLAIN));

/** The whole database, without the challenges and failures, which a refused login leaves, and the entries about refusals. */
function contentOf({ databaseUrl }: TestService): string {
  const database = new DatabaseSync(databaseUrl.slice('sqlite:'.length), { readOnly: true });
  const tables = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").all();
  const ignored = new Set(['operator_challenges', 'operator_login_failures', 'audit_entries']);
  const content = tables
    .map(({ name }) => String(name))
    .filter((name) => !ignored.has(name))
    .map((name) => [name, database.prepare(`SELECT * FROM ${name}`).all()]);
  database.close();
  return JSON.stringify(content);
}

async function request(
  test: TestService,
  route: string,
  environment: Environment,
  cookie?: string,
  token?: string,
): Promise<number> {
  const [method, pattern] = route.split(' ') as [string, string];
  const { params = {}, form = {} } = (await ROUTES[route]!.sent?.(test, environment)) ?? {};
  const path = pattern.replace(':environment', environment).replace(/:(\w+)/g, (_, name: string) => params[name]!);
  const before = contentOf(test);
  const sent = method === 'POST' ? { form: { ...form, ...(token !== undefined && { token }) } } : {};
  const response = await visit(test.url + path, { cookie, ...sent });
  const isRefused = response.status >= 400 || (response.headers.get('location') ?? '').startsWith('/dashboard/login');
  if (isRefused || method === 'GET')
    assert.equal(contentOf(test), before, `${route} in ${environment} changed something`);
  return response.status;
}

/** Email addresses of operators, each with a role in one environment. */
async function joinEverybody(test: TestService): Promise<Map<string, Person>> {
  const people = new Map<string, Person>();
  for (const environment of ENVIRONMENTS) {
    for (const role of ROLES) {
      const person = await joinPerson(test, `${role}.${environment}@example.com`, { [environment]: role });
      people.set(`${role} ${environment}`, person);
    }
  }
  return people;
}

describe('every route of the dashboard', () => {
  it('is named in the table of this test', async () => {
    await using test = await startTestService();
    const routes = await dashboardRoutes(test);
    assert.deepEqual(unnamed(routes), []);
    assert.deepEqual([...Object.keys(ROUTES), ...Object.keys(PLAIN)].toSorted(), routes.toSorted());
    const injected = await dashboardRoutes(test, (app) => app.get('/dashboard/:environment/unnamed', () => ''));
    assert.deepEqual(unnamed(injected), ['GET /dashboard/:environment/unnamed']);
  });

  for (const [route, expected] of Object.entries(ROUTES)) {
    it(`${route}: four roles, two environments`, async () => {
      await using test = await startTestService();
      const people = await joinEverybody(test);
      // An admin who stays, so that no test demotes the last one.
      const { operator: idle, cookie: idleCookie } = await joinPerson(test, 'idle@example.com', {
        sandbox: 'admin',
        production: 'admin',
      });
      for (const environment of ENVIRONMENTS) {
        const other = environment === 'sandbox' ? 'production' : 'sandbox';
        assert.equal(await request(test, route, environment), 303, `no session in ${environment}`);
        for (const role of ROLES) {
          const { cookie } = people.get(`${role} ${environment}`)!;
          const token = await formTokenOf(test, cookie, environment);
          const where = `${role} in ${environment}`;
          assert.equal(await request(test, route, other, cookie, token), 403, `${where}, asking for ${other}`);
          assert.equal(await request(test, route, environment, cookie, token), expected[environment][role], where);
        }
      }
      const token = await formTokenOf(test, idleCookie);
      const viewer = { sandbox: 'viewer', production: null } as const;
      const { cookie: demoted, operator } = await joinPerson(test, 'demoted@example.com', {
        sandbox: 'admin',
        production: 'admin',
      });
      const own = await formTokenOf(test, demoted);
      await changeRoles(loginDepsOf(test), operator.id, viewer);
      test.clock.advance(1000);
      for (const environment of ENVIRONMENTS)
        assert.equal(await request(test, route, environment, demoted, own), 303, 'role removed');
      test.clock.advance(30 * 60_000);
      for (const environment of ENVIRONMENTS)
        assert.equal(await request(test, route, environment, idleCookie, token), 303, 'idle');
      assert.ok(idle.joinedAt !== null);
    });
  }

  it('of no environment has the expected status without a session and with one', async () => {
    await using test = await startTestService();
    const { cookie } = await joinPerson(test, 'ada@example.com', { sandbox: 'viewer' });
    for (const [route, [without, viewer]] of Object.entries(PLAIN)) {
      const [method, path] = route.split(' ') as [string, string];
      const before = contentOf(test);
      const sent = method === 'POST' ? { form: { password: 'x' } } : {};
      assert.equal((await visit(test.url + path, sent)).status, without, `${route} without a session`);
      assert.equal((await visit(test.url + path, { cookie, ...sent })).status, viewer, `${route} with a session`);
      assert.equal(contentOf(test), before, route);
    }
  });
});
