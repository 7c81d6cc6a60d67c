import type { FastifyInstance, FastifyRequest } from 'fastify';
import { checkoutUrl } from '../contract/session-contract.ts';
import { contextsOf } from '../domain/payment-contexts.ts';
import { isId } from '../domain/id.ts';
import { type Html, html } from '../html/html.ts';
import { serveAssets } from '../html/assets.ts';
import { acceptForms, seeOther, sendPage } from '../html/html-page.ts';
import { centsOf } from '../operations/cents-of.ts';
import { createCheckout } from '../operations/create-checkout.ts';
import { factsOf } from '../operations/routing/attempts.ts';
import { effectOf, quoteFor } from '../operations/routing/offers.ts';
import { isLoopbackUrl } from '../webhooks/address.ts';
import type { AppDeps } from './app.ts';
import { KEY_OPTION } from './docs.ts';
import { discoveryLinks } from './discovery-links.ts';
import { SITE_STYLE, sitePage } from './site.ts';

// Test checkout of the front page. With this amount, no fee rounds to 0.
const DEMO = {
  product: 'Field guide to birds',
  amount: 49.99,
  customer: 'demo.buyer@example.com',
  metadata: { orderId: 'demo' },
  environment: 'sandbox',
} as const;

/** Serves the front page, and its test checkout if `demo` allows it. */
export function homePages(app: FastifyInstance, deps: AppDeps): void {
  serveAssets(app, [SITE_STYLE]);
  app.get('/', async (request, reply) => {
    if (isOtherName(request, deps.urls.base)) return seeOther(reply, `${deps.urls.base}/`);
    reply.header('link', discoveryLinks(deps.urls.base));
    return sendPage(reply, 200, homePage(deps, await hasDemo(deps), !(await deps.gate.isOpen())));
  });
  if (deps.demo === false) return;
  app.register(async (scope) => {
    acceptForms(scope, Object.values(deps.urls));
    scope.post('/demo', async (_request, reply) => {
      if (!(await hasDemo(deps))) return seeOther(reply, '/');
      const { session } = await createCheckout(deps, { ...DEMO, redirectUrl: `${deps.urls.checkout}/demo` });
      return seeOther(reply, checkoutUrl(deps.urls, session.id));
    });
  });
  app.get<{ Querystring: { session_id?: string } }>('/demo', async (request, reply) => {
    const id = request.query.session_id;
    const { dashboard } = deps;
    if (!dashboard || typeof id !== 'string' || !isId(id, 'chk') || !(await hasDemo(deps))) return seeOther(reply, '/');
    return seeOther(reply, `${dashboard.isExposed ? dashboard.url : ''}/dashboard/${DEMO.environment}/payments/${id}`);
  });
}

/**
 * True if the browser used another name of this machine than `base`, such as `localhost` for `127.0.0.1`. The test checkout leads to
 * `base`, and the content security policy stops forms whose answer leads to another host.
 */
function isOtherName({ host }: FastifyRequest, base: string): boolean {
  const [from, to] = [URL.parse(`http://${host}`), new URL(base)];
  const isLocal = from !== null && isLoopbackUrl(from.href) && isLoopbackUrl(base);
  return isLocal && from.port === to.port && from.hostname !== to.hostname;
}

/** True if the front page offers a test checkout, which needs no API key. */
async function hasDemo({ demo, gate, routes }: AppDeps): Promise<boolean> {
  if (!routes.some(({ environment }) => environment === DEMO.environment)) return false;
  return demo === 'while_open' ? gate.isOpen() : demo;
}

function homePage(deps: AppDeps, demo: boolean, asksForKey: boolean): Html {
  const { urls, merchantName } = deps;
  return sitePage(
    'Tillway',
    html`<section class="hero">
        <p class="eyebrow">Hosted checkout and payment routing, self-hosted</p>
        <h1>Take a payment with one request.</h1>
        <p class="lead">
          Create a session, send the buyer to its <code>checkoutUrl</code>, and fulfil when the signed
          <code>payment.paid</code> webhook arrives. Tillway shows the page, picks the route, and keeps the books.
        </p>
        ${demo && demoForm(demoProvider(deps))}
        <p class="links">
          ${sharesDashboard(deps) && html`<a href="/dashboard">Dashboard</a>`} <a href="/docs">API reference</a>
          <a href="/openapi.json">OpenAPI</a>
          <a href="/api/agent/capabilities">For agents</a> <a href="/simulator">Test instruments</a>
        </p>
      </section>
      <section aria-labelledby="how">
        <h2 id="how">The same from a terminal</h2>
        <pre><code>curl ${urls.base}/api/gateway/sessions \\${asksForKey ? `\n  ${KEY_OPTION} \\` : ''}
  -H 'Content-Type: application/json' \\
  -d '{"product": "Field guide",
    "amount": 49.99,
    "customer": "buyer@example.com"}'</code></pre>
        <ol class="steps">
          <li><strong>Open</strong> the <code>checkoutUrl</code> in the answer and pay with a test card.</li>
          <li>
            <strong>Receive</strong> <code>payment.provider_pending</code>, then <code>payment.paid</code>, signed: at
            your <code>WEBHOOK_URL</code>, or in a terminal by <code>npx tillway listen</code>.
          </li>
          <li><strong>Look up</strong> <code>GET /api/gateway/payments/{checkout session id}</code> at any time.</li>
        </ol>
      </section>
      <p class="foot">This server sells for <strong>${merchantName}</strong>. In sandbox no money moves.</p>`,
  );
}

/** True if the dashboard has the address of the front page. An address of its own, which may be secret, is not linked. */
function sharesDashboard({ dashboard, urls }: AppDeps): boolean {
  return dashboard !== undefined && (!dashboard.isExposed || dashboard.url === urls.base);
}

const demoForm = (provider: string) =>
  html`<form method="post" action="/demo">
    <button class="button" type="submit">Create a test checkout</button>
    <span class="hint">$49.99, no real money. ${provider}</span>
  </form>`;

/** Sentence that names the provider of the test checkout, or the reason why no provider can take it. */
function demoProvider(deps: AppDeps): string {
  const { environment, customer: customerEmail } = DEMO;
  const amount = centsOf(DEMO.amount);
  const session = {
    ...DEMO,
    amount,
    customerEmail,
    preferredRoute: null,
    clientReferenceId: null,
    idempotencyKey: null,
  };
  const effect = effectOf(deps, environment, () => factsOf(session, deps.now()));
  const contexts = contextsOf(session, deps.now(), deps.routingMetadataKey);
  const { route } = quoteFor(deps, { environment, amount, preferredKind: null, effect, contexts });
  if (!route) return 'No provider can take it.';
  const { integrationId, integrationLabel } = route.route;
  if (route.facts.off !== null) return `No provider can take it now: ${route.facts.off}.`;
  return `Provider: ${integrationLabel} (${integrationId}).`;
}
