import type { FastifyInstance, FastifyRequest } from 'fastify';
import { GatewayError } from '../../domain/gateway-error.ts';
import { type Html, html } from '../../html/html.ts';
import { formOf, seeOther, sendPage } from '../../html/html-page.ts';
import {
  type From,
  type LoginDeps,
  type Proof,
  loginByFactor,
  loginByKey,
} from '../../operations/access/operator-login.ts';
import type { Login } from '../../operations/access/operator-sessions.ts';
import { operatorOfInvite } from '../../operations/access/operators.ts';
import { newPasskeyOptions, passkeyOptions } from '../../operations/access/passkeys.ts';
import { renderPlain } from '../shell.ts';
import type { DashboardSettings } from '../visit.ts';
import { newFormToken } from './form-token.ts';
import { field, passkeyForm, passkeyScripts } from './passkey-form.ts';
import { isSafeUrl, setToken, siteOf, tokenOf } from './session-cookie.ts';
import { type Visitors, assertForm } from './visitors.ts';

/** Everything that the pages of the login need. */
export interface LoginParts {
  settings: DashboardSettings;
  access: LoginDeps;
  visitors: Visitors;
}

/** Login, repeated factor and logout. They belong to no environment. */
export function loginPages(scope: FastifyInstance, parts: LoginParts): void {
  const { settings, access, visitors } = parts;
  scope.get('/dashboard/login', async (request, reply) => {
    assertSafe(settings);
    const next = ownPath(queryOf(request).get('next'));
    if (await visitors.isOpen()) return seeOther(reply, next);
    return sendPage(reply, 200, renderLogin(parts, request, next, await visitors.acceptsKeys()));
  });
  scope.post('/dashboard/login', async (request, reply) => {
    assertSafe(settings);
    const form = formOf(request);
    if (form.has('key') && !(await visitors.acceptsKeys())) throw keysClosed();
    const token = form.has('key')
      ? await loginByKey(access, form.get('key')!.trim(), fromOf(settings, request))
      : await loginByFactor(access, 'login', form.get('email') ?? '', proofOf(form), fromOf(settings, request));
    setToken(settings, reply, token);
    return seeOther(reply, ownPath(form.get('next')));
  });
  scope.get('/dashboard/confirm', async (request, reply) => {
    const login = await visitors.login(request);
    if (!login?.operator) return seeOther(reply, `/dashboard/login?${queryOf(request).toString()}`);
    return sendPage(reply, 200, await renderConfirm(parts, request, login));
  });
  scope.post('/dashboard/confirm', async (request, reply) => {
    const form = formOf(request);
    const { operator, session: before } = await loginOf(parts, request);
    const from = { ...fromOf(settings, request), before };
    const purpose = `confirm ${operator.id}`;
    setToken(settings, reply, await loginByFactor(access, purpose, operator.email, proofOf(form), from));
    access.logins.forget();
    return seeOther(reply, ownPath(form.get('next')));
  });
  scope.post('/dashboard/logout', async (request, reply) => {
    const login = await visitors.login(request);
    if (!login) return seeOther(reply, '/dashboard/login');
    assertForm(request, tokenOf(settings, request));
    await access.store.commit([{ type: 'operator_session_ended', id: login.session.id, at: access.realNow() }]);
    access.logins.forget();
    setToken(settings, reply, undefined);
    reply.header('clear-site-data', '"cache"');
    return seeOther(reply, '/dashboard/login');
  });
  scope.post('/dashboard/challenge', async (request, reply) => {
    const options = await challengeFor(parts, request);
    return reply.type('application/json; charset=utf-8').send(JSON.stringify(options));
  });
}

/** Options for the passkey of a form. Each creates a challenge, so it is no GET. */
async function challengeFor(parts: LoginParts, request: FastifyRequest): Promise<object> {
  const { settings, access } = parts;
  const form = formOf(request);
  const site = siteOf(settings, request);
  const purpose = form.get('purpose');
  if (purpose === 'login') return passkeyOptions(access, site, purpose);
  if (purpose === 'join') {
    const invited = await operatorOfInvite(access, form.get('secret') ?? '');
    return newPasskeyOptions(access, site, `join ${invited.id}`, invited);
  }
  const { operator } = await loginOf(parts, request);
  if (purpose === 'add') return newPasskeyOptions(access, site, `add ${operator.id}`, operator);
  return passkeyOptions(access, site, `confirm ${operator.id}`, operator);
}

/** The login of an operator's form, whose token was checked. Throws GatewayError `forbidden`. */
async function loginOf({ settings, visitors }: LoginParts, request: FastifyRequest) {
  const login = await visitors.login(request);
  assertForm(request, login && tokenOf(settings, request));
  if (!login?.operator) throw new GatewayError('forbidden', 'This login is no operator.');
  return { session: login.session, operator: login.operator };
}

function proofOf(form: URLSearchParams): Proof {
  const answer = form.get('credential');
  return answer === null ? { password: form.get('password') ?? '', code: form.get('code') ?? '' } : { answer };
}

export function fromOf(settings: DashboardSettings, request: FastifyRequest): From {
  return { site: siteOf(settings, request), address: request.ip };
}

/** Throws GatewayError `forbidden` where a login would be sent unencrypted. */
export function assertSafe({ url }: DashboardSettings): void {
  if (isSafeUrl(url)) return;
  throw new GatewayError('forbidden', 'The login is served over https and on this machine only.', {
    suggestion: 'Set DASHBOARD_URL to the https address of this service.',
  });
}

/** A path of the dashboard; anything else, such as another site, becomes the start page. */
function ownPath(next: string | null): string {
  const url = URL.parse(next ?? '', 'http://dashboard.invalid');
  const isOwn = url?.origin === 'http://dashboard.invalid' && url.pathname.startsWith('/dashboard/');
  return isOwn ? url.pathname + url.search : '/dashboard';
}

function queryOf({ url }: FastifyRequest): URLSearchParams {
  return new URLSearchParams(url.split('?')[1]);
}

function keysClosed(): GatewayError {
  return new GatewayError('forbidden', 'API keys no longer log in, because an operator has joined.', {
    suggestion: 'Log in as an operator; "tillway operators invite" makes one.',
  });
}

function passwordFields(needsCode: boolean): Html {
  return html`${field('Password', 'password', 'password', 'current-password')}
  ${field('Code of the authenticator app, or a recovery code', 'code', 'text', 'one-time-code', needsCode)}`;
}

function renderLogin({ settings }: LoginParts, request: FastifyRequest, next: string, acceptsKeys: boolean): Html {
  const kept = html`<input type="hidden" name="next" value="${next}" />`;
  const main = html`${passkeyForm(request, '/dashboard/login', 'login', kept, 'Log in with a passkey')}
    <h2>With a password</h2>
    <form method="post" action="/dashboard/login" class="stack">
      ${kept} ${field('Email address', 'email', 'email', 'username')} ${passwordFields(settings.isExposed)}
      <button>Log in</button>
    </form>
    ${
      acceptsKeys &&
      html`<h2>With an API key</h2>
        <form method="post" action="/dashboard/login" class="stack">
          ${kept} ${field('API key of scope read, write or admin', 'key', 'password', 'off')}
          <button>Log in with the key</button>
        </form>`
    }
    <p class="small">No access yet? An admin invites you, or <code>tillway operators invite</code> on the machine.</p>`;
  return renderPlain({ title: 'Log in', main }, passkeyScripts);
}

async function renderConfirm(
  { access, settings }: LoginParts,
  request: FastifyRequest,
  { operator }: Login,
): Promise<Html> {
  const next = ownPath(queryOf(request).get('next'));
  const token = newFormToken(tokenOf(settings, request)!, access.randomBytes);
  const kept = html`<input type="hidden" name="next" value="${next}" /><input
      type="hidden"
      name="token"
      value="${token}"
    />`;
  const hasPasskey = (await access.store.passkeysOfOperator(operator!.id)).length > 0;
  const main = html`<p>This action needs your passkey or password again, ${operator!.email}.</p>
    ${hasPasskey && passkeyForm(request, '/dashboard/confirm', 'confirm', kept, 'Confirm with a passkey')}
    ${
      operator!.passwordHash !== null &&
      html`<form method="post" action="/dashboard/confirm" class="stack">
        ${kept} ${passwordFields(settings.isExposed || operator!.totpSealed !== null)}
        <button>Confirm with the password</button>
      </form>`
    }
    <p><a href="${next}">Cancel</a></p>`;
  return renderPlain({ title: 'Confirm that it is you', main }, passkeyScripts);
}
