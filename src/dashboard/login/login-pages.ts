import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type Html, html } from '../../html/html.ts';
import { formOf, seeOther, sendPage } from '../../html/html-page.ts';
import type { Factor, From, LoginDeps } from '../../operations/access/operator-login.ts';
import { logOut, loginByFactor, loginByKey } from '../../operations/access/operator-login.ts';
import { operatorOfInvite } from '../../operations/access/operators.ts';
import { newPasskeyOptions, passkeyOptions } from '../../operations/access/passkeys.ts';
import { renderPlain } from '../shell.ts';
import type { DashboardSettings } from '../visit.ts';
import { inputField, passkeyForm, passkeyScripts } from './passkey-form.ts';
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
    const from = await fromOf(parts, request);
    const token =
      key === undefined
        ? await loginByFactor(access, form.get('email') ?? '', factorOf(form), from)
        : await loginByKey(access, key, from);
    setToken(settings, reply, token);
    return seeOther(reply, ownPath(form.get('next')));
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

export function factorOf(form: URLSearchParams): Factor {
  const text = (name: string) => form.get(name) ?? '';
  if (form.has('credential')) return { answer: text('credential') };
  return { password: text('password'), code: text('code'), totp: text('totp') };
}

export async function fromOf({ settings, visitors }: LoginParts, request: FastifyRequest): Promise<From> {
  const before = (await visitors.login(request))?.session;
  return { site: siteOf(settings, request), address: request.ip, before };
}

/** A path of the dashboard; anything else, such as another site, becomes the start page. */
export function ownPath(next: string | null): string {
  const url = URL.parse(next ?? '', 'http://dashboard.invalid');
  const isOwn = url?.origin === 'http://dashboard.invalid' && url.pathname.startsWith('/dashboard/');
  return isOwn ? url.pathname + url.search : '/dashboard';
}

async function renderLogin(parts: LoginParts, request: FastifyRequest, next: string): Promise<Html> {
  const { settings, access, visitors } = parts;
  const operator = (await visitors.login(request))?.principals.find(({ kind }) => kind === 'operator');
  const kept = html`<input type="hidden" name="next" value="${next}" />`;
  const { isExposed } = settings;
  const main = html`${operator && html`<p>This needs your passkey or password again. <a href="/dashboard">Cancel</a></p>`}
    ${passkeyForm(request, '/dashboard/login', kept, 'Log in with a passkey')}
    <h2>With a password</h2>
    <form method="post" action="/dashboard/login" class="stack">
      ${kept} ${inputField('Email address', 'email', 'email', 'username', { value: operator?.name })}
      ${inputField('Password', 'password', 'password', 'current-password')}
      ${inputField('Code of the authenticator app, or a recovery code', 'code', 'text', 'one-time-code', { isRequired: isExposed })}
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
