import cookie from '@fastify/cookie';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { GatewayError } from '../domain/gateway-error.ts';
import { ENVIRONMENTS, type Environment } from '../domain/route.ts';
import { sendPrivate } from '../html/content.ts';
import { html } from '../html/html.ts';
import { serveAssets } from '../html/assets.ts';
import { PAGE_HEADERS, acceptForms, formOf, param, seeOther } from '../html/html-page.ts';
import { withAudit } from '../operations/access/audit.ts';
import { restrictStore } from '../operations/access/restrict-store.ts';
import { FormRefusal, dashboardErrorPage, loginAddress } from './error-page.ts';
import { auditPage } from './pages/audit-page.ts';
import { overviewPage } from './pages/overview-page.ts';
import { paymentActions } from './pages/payment-actions.ts';
import { paymentPage } from './pages/payment-page.ts';
import { refundPage } from './pages/refund-page.ts';
import { type LoginParts, joinPages, loginPages } from './login/login-pages.ts';
import { PASSKEY_ASSETS } from './login/passkey-form.ts';
import { assertSafe, hostNamesOf } from './login/session-cookie.ts';
import { type Visitors, assertForm, createVisitors, newFormToken } from './login/visitors.ts';
import { operatorsPage } from './pages/operators-page.ts';
import { securityPage } from './pages/security-page.ts';
import { paymentsPage } from './pages/payments-page.ts';
import { searchPage } from './pages/search-page.ts';
import { DASHBOARD_ASSETS, renderVisit } from './shell.ts';
import type { Answer, DashboardDeps, FormPage, PageRoutes, Visit, VisitHandler, Visitor } from './visit.ts';

/** The pages of an environment. */
const PAGES: readonly ((routes: PageRoutes, parts: LoginParts) => void)[] = [
  overviewPage,
  paymentsPage,
  searchPage,
  paymentPage,
  paymentActions,
  refundPage,
  auditPage,
  operatorsPage,
  securityPage,
];

/** The operators' pages. They work without JavaScript, and no GET changes anything. */
export function dashboardPages(app: FastifyInstance, deps: DashboardDeps, pages = PAGES): void {
  const { dashboard: settings } = deps;
  if (!settings) return;
  serveAssets(app, [...DASHBOARD_ASSETS, ...PASSKEY_ASSETS]);
  app.register(async (scope) => {
    scope.decorate('errorPage', dashboardErrorPage);
    const hostNames = hostNamesOf(settings);
    scope.addHook('onRequest', async (request) => {
      if (!hostNames.has(request.hostname)) throw noPage();
      assertSafe(settings);
    });
    await scope.register(cookie);
    acceptForms(scope, [settings.url, ...Object.values(deps.urls)]);
    const visitors = createVisitors(deps, settings);
    const access = { ...deps, needsSecondFactor: settings.isExposed };
    const parts = { settings, access, visitors };
    scope.get('/dashboard', async (request, reply) => {
      const allowed = (await visitors.personOf(request))?.principals;
      if (!allowed) return seeOther(reply, '/dashboard/login');
      const first = firstEnvironment(deps);
      const { environment } = allowed.find((each) => each.environment === first) ?? allowed[0]!;
      return seeOther(reply, `/dashboard/${environment}`);
    });
    loginPages(scope, parts);
    joinPages(scope, parts);
    const visits = createVisits(deps, visitors);
    const routes: PageRoutes = {
      get: (path, handler) => scope.get(`/dashboard/:environment${path}`, visits(handler)),
      post: (path, action, handler, form) =>
        scope.post(`/dashboard/:environment${path}`, visits(handler, action, form)),
    };
    for (const page of pages) page(routes, parts);
  });
}

/** Production if a provider of production is configured. */
function firstEnvironment({ providers }: DashboardDeps): Environment {
  return [...providers.values()].some(({ environment }) => environment === 'production') ? 'production' : 'sandbox';
}

/** Returns a function that makes the handler of a request from the handler of a visit. */
function createVisits(deps: DashboardDeps, visitors: Visitors) {
  const byEnvironment = new Map(
    ENVIRONMENTS.map((environment) => [environment, { ...deps, store: restrictStore(deps.store, environment) }]),
  );
  return (handler: VisitHandler, action?: string, form?: FormPage) =>
    async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
      const environment = ENVIRONMENTS.find((one) => one === param(request, 'environment'));
      if (!environment) throw noPage();
      const visitor = await visitors.find(request, environment);
      if (!visitor) return seeOther(reply, loginAddress(request));
      if (request.method === 'POST') assertForm(request, visitor.formSecret);
      const depsFor = ({ principal: caller }: Visitor) => ({ ...byEnvironment.get(environment)!, caller });
      const visit: Visit = {
        request,
        reply,
        deps: depsFor(visitor),
        async renewedDeps() {
          const again = await visitors.find(request, environment);
          return again && depsFor(again);
        },
        visitor,
        environment,
        query: new URLSearchParams(request.url.split('?')[1]),
        form: formOf(request),
        here: request.url,
        param: (name) => param(request, name),
        path: (page) => `/dashboard/${environment}${page === '' ? '' : `/${page}`}`,
        get formToken() {
          const token = newFormToken(visitor.formSecret, deps.randomBytes);
          return html`<input type="hidden" name="token" value="${token}" />`;
        },
      };
      if (action === undefined) return send(visit, await handler(visit));
      const audit = { action, kind: 'change', params: request.params } as const;
      const done = withAudit(visit.deps, audit, (own) => handler(Object.assign(visit, { deps: own })));
      return send(visit, await done.catch((fault: unknown) => refuseForm(visit, form, fault)));
    };
}

/** Throws `fault`, with the page of the form if it can be corrected there. A form with a reused idempotency key must be opened again. */
async function refuseForm(visit: Visit, form: FormPage | undefined, fault: unknown): Promise<never> {
  if (!form || !(fault instanceof GatewayError)) throw fault;
  if (fault.code === 'idempotency_conflict') {
    throw new GatewayError(fault.code, 'This form was sent before, with other values. Nothing was changed this time.', {
      suggestion: 'Check what the form did the first time; then open it again.',
    });
  }
  throw new FormRefusal(fault, renderVisit(visit, await form(Object.assign(visit, { fault }))));
}

function send(visit: Visit, answer: Answer): FastifyReply | Promise<FastifyReply> {
  const { request, reply } = visit;
  if ('goTo' in answer) return seeOther(reply, answer.goTo);
  if ('download' in answer) return reply.send(answer.download);
  reply.headers(PAGE_HEADERS);
  return sendPrivate(request, reply, renderVisit(visit, answer).markup);
}

function noPage(): GatewayError {
  return new GatewayError('not_found', 'There is no such page.');
}
