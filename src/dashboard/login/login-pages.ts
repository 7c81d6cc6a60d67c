import type { FastifyInstance, FastifyRequest } from 'fastify';
import { qrCode } from '../../checkout/qr-code.ts';
import { GatewayError } from '../../domain/gateway-error.ts';
import type { Operator } from '../../domain/operator.ts';
import { type Html, html } from '../../html/html.ts';
import { formOf, seeOther, sendPage } from '../../html/html-page.ts';
import type { Factor, From, LoginDeps } from '../../operations/access/operator-login.ts';
import { joinService, logOut, loginByFactor, loginByKey } from '../../operations/access/operator-login.ts';
import { operatorOfInvite } from '../../operations/access/operators.ts';
import { newPasskeyOptions, passkeyOptions } from '../../operations/access/passkeys.ts';
import { newTotpOffer } from '../../operations/access/second-factor.ts';
import { inputField, renderFault } from '../components/action-form.ts';
import { FormRefusal } from '../error-page.ts';
import { renderPlain } from '../shell.ts';
import type { DashboardSettings } from '../visit.ts';
import { passkeyForm, passkeyScripts } from './passkey-form.ts';
import { setToken, siteOf, tokenOf } from './session-cookie.ts';
import { type Visitors, assertForm } from './visitors.ts';

/** Everything that the pages of the login need. */
export interface LoginParts {
  settings: DashboardSettings;
  access: LoginDeps;
  visitors: Visitors;
}

/** Login and logout. They belong to no environment. A person who must prove a factor again logs in again. */
export function loginPages(scope: FastifyInstance, parts: LoginParts): void {
  const { settings, access, visitors } = parts;
  scope.get('/dashboard/login', async (request, reply) => {
    const next = ownPath(new URLSearchParams(request.url.split('?')[1]).get('next'));
    if (await visitors.isOpen()) return seeOther(reply, next);
    return sendPage(reply, 200, await renderLogin(parts, request, next));
  });
  scope.post('/dashboard/login', async (request, reply) => {
    const form = formOf(request);
    const key = form.get('key')?.trim();
    const next = ownPath(form.get('next'));
    const from = await fromOf(parts, request);
    const entered =
      key === undefined
        ? loginByFactor(access, form.get('email') ?? '', factorOf(form), from)
        : loginByKey(access, key, from);
    const token = await entered.catch(async (fault: unknown) => {
      // The form keeps the page to which the person wanted to go.
      throw fault instanceof GatewayError
        ? new FormRefusal(fault, await renderLogin(parts, request, next, fault))
        : fault;
    });
    setToken(settings, reply, token);
    return seeOther(reply, next);
  });
  scope.post('/dashboard/logout', async (request, reply) => {
    const login = await visitors.login(request);
    if (!login) return seeOther(reply, '/dashboard/login');
    assertForm(request, tokenOf(settings, request));
    await logOut(access, login);
    setToken(settings, reply, undefined);
    reply.header('clear-site-data', '"cache"');
    return seeOther(reply, '/dashboard/login');
  });
  // Creates a challenge for the passkey of a form, so it is no GET.
  scope.post('/dashboard/challenge', async (request, reply) => {
    const secret = formOf(request).get('secret');
    const site = siteOf(settings, request);
    const options =
      secret === null
        ? await passkeyOptions(access, site)
        : await newPasskeyOptions(access, site, await operatorOfInvite(access, secret));
    return reply.type('application/json; charset=utf-8').send(JSON.stringify(options));
  });
}

function factorOf(form: URLSearchParams): Factor {
  const text = (name: string) => form.get(name) ?? '';
  if (form.has('credential')) return { answer: text('credential') };
  return { password: text('password'), code: text('code'), totp: text('totp') };
}

async function fromOf({ settings, visitors }: LoginParts, request: FastifyRequest): Promise<From> {
  const before = (await visitors.login(request))?.session;
  return { site: siteOf(settings, request), address: request.ip, before };
}

/** A path of the dashboard; anything else, such as another site, becomes the start page. */
function ownPath(next: string | null): string {
  const url = URL.parse(next ?? '', 'http://dashboard.invalid');
  const isOwn = url?.origin === 'http://dashboard.invalid' && url.pathname.startsWith('/dashboard/');
  return isOwn ? url.pathname + url.search : '/dashboard';
}

async function renderLogin(
  parts: LoginParts,
  request: FastifyRequest,
  next: string,
  fault?: GatewayError,
): Promise<Html> {
  const { settings, access, visitors } = parts;
  const operator = (await visitors.login(request))?.principals.find(({ kind }) => kind === 'operator');
  const kept = html`<input type="hidden" name="next" value="${next}" />`;
  const { isExposed } = settings;
  const email = formOf(request).get('email') ?? operator?.name;
  const main = html`${fault && renderFault(fault)}
    ${operator && html`<p>This needs your passkey or password again. <a href="/dashboard">Cancel</a></p>`}
    ${passkeyForm(request, '/dashboard/login', kept, 'Log in with a passkey')}
    <h2>With a password</h2>
    <form method="post" action="/dashboard/login" class="stack">
      ${kept} ${inputField('Email address', 'email', 'email', 'username', { value: email })}
      ${inputField('Password', 'password', 'password', 'current-password')}
      ${inputField('Code of the authenticator app, if you have one', 'code', 'text', 'one-time-code', { isRequired: isExposed })}
      <button class="button">Log in</button>
    </form>
    ${
      !(await access.gate.hasOperators()) &&
      html`<h2>With an API key</h2>
        <form method="post" action="/dashboard/login" class="stack">
          ${kept} ${inputField('API key of scope read, write or admin', 'key', 'password', 'off')}
          <button class="button">Log in with the key</button>
        </form>`
    }
    <p class="small">No access yet? An admin invites you, or <code>tillway operators invite</code> on the machine.</p>`;
  return renderPlain({ title: operator ? 'Confirm that it is you' : 'Log in', main }, passkeyScripts);
}

/** The pages of an invitation. Its secret is in the fragment of the link, which browsers do not send. */
export function joinPages(scope: FastifyInstance, parts: LoginParts): void {
  const { settings, access } = parts;
  scope.get('/dashboard/join', async (_request, reply) => {
    const main = html`<p>Your link contains a code after the sign #. It is valid once, for 60 minutes.</p>
      <form method="post" action="/dashboard/join" class="stack" data-invitation>
        ${inputField('Code of the invitation', 'secret', 'text', 'off')} <button class="button">Continue</button>
      </form>`;
    return sendPage(reply, 200, renderPlain({ title: 'Join', main }, passkeyScripts));
  });
  scope.post('/dashboard/join', async (request, reply) => {
    const form = formOf(request);
    const secret = form.get('secret')?.trim() ?? '';
    const operator = await operatorOfInvite(access, secret);
    const next = ownPath(form.get('next'));
    const render = (fault?: GatewayError) => {
      const main = html`<p>You join as <strong>${operator.email}</strong>.</p>
        ${fault && renderFault(fault)} ${newFactorForms(parts, request, operator, { secret, next })}`;
      return renderPlain({ title: 'Join', main }, passkeyScripts);
    };
    if (!form.has('credential') && !form.has('password')) return sendPage(reply, 200, render());
    const from = await fromOf(parts, request);
    const token = await joinService(access, secret, factorOf(form), from).catch((fault: unknown) => {
      // Shows the same secret of the authenticator app again. With a new secret, the codes of the app would be rejected.
      throw fault instanceof GatewayError ? new FormRefusal(fault, render(fault)) : fault;
    });
    setToken(settings, reply, token);
    return seeOther(reply, next);
  });
}

/** Forms for a new passkey, or a new password with an authenticator app, which is required beyond this machine. `secret` belongs to the invitation. */
export function newFactorForms(
  { access, settings: { isExposed } }: LoginParts,
  request: FastifyRequest,
  operator: Operator,
  { secret, next }: { secret: string; next: string },
): Html {
  const kept = html`<input type="hidden" name="secret" value="${secret}" />
    <input type="hidden" name="next" value="${next}" />`;
  const form = formOf(request);
  // A form that was refused keeps the secret that the person has added to the app.
  const isRepeated = (form.get('code') ?? '') !== '';
  const offer = newTotpOffer(access, operator, isRepeated ? form.get('totp') : null);
  const app =
    offer &&
    html`<input type="hidden" name="totp" value="${offer.sealed}" />
      <details ${(isExposed || isRepeated) && html`open`}>
        <summary>Authenticator app ${isExposed ? '(required)' : '(optional on this machine)'}</summary>
        ${qrCode(offer.uri, 'QR code for the authenticator app')}
        <p>Or type this secret: <code>${offer.secret}</code></p>
        ${inputField('Current code of the app', 'code', 'text', 'one-time-code', { isRequired: isExposed })}
      </details>`;
  return html`${passkeyForm(request, '/dashboard/join', kept, 'Use a new passkey')}
    <h2>With a password, where passkeys do not work</h2>
    ${
      isExposed && !offer
        ? html`<p>
            A password needs an authenticator app, whose secret is encrypted: set <code>ENCRYPTION_KEY</code>.
          </p>`
        : html`<form method="post" action="/dashboard/join" class="stack">
            ${kept} ${inputField('Password of at least 12 characters', 'password', 'password', 'new-password')} ${app}
            <button class="button">Use the new password</button>
          </form>`
    }`;
}
