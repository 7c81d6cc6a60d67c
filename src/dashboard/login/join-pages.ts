import type { FastifyInstance, FastifyRequest } from 'fastify';
import { qrCode } from '../../checkout/qr-code.ts';
import type { Operator } from '../../domain/operator.ts';
import { type Html, html } from '../../html/html.ts';
import { formOf, seeOther, sendPage } from '../../html/html-page.ts';
import { type NewFactor, joinService } from '../../operations/access/operator-login.ts';
import { operatorOfInvite } from '../../operations/access/operators.ts';
import { newTotpOffer } from '../../operations/access/second-factor.ts';
import { renderPlain } from '../shell.ts';
import { type LoginParts, assertSafe, fromOf } from './login-pages.ts';
import { field, passkeyForm, passkeyScripts } from './passkey-form.ts';
import { setToken } from './session-cookie.ts';

/** The pages of an invitation. Its secret is in the fragment of the link, which browsers do not send. */
export function joinPages(scope: FastifyInstance, parts: LoginParts): void {
  const { settings, access } = parts;
  scope.get('/dashboard/join', async (_request, reply) => {
    const main = html`<p>Your link contains a code after the sign #. It is valid once, for 60 minutes.</p>
      <form method="post" action="/dashboard/join" class="stack" data-invitation>
        ${field('Code of the invitation', 'secret', 'text', 'off')} <button>Continue</button>
      </form>`;
    return sendPage(reply, 200, renderPlain({ title: 'Join', main }, passkeyScripts));
  });
  scope.post('/dashboard/join', async (request, reply) => {
    assertSafe(settings);
    const form = formOf(request);
    const secret = form.get('secret')?.trim() ?? '';
    const operator = await operatorOfInvite(access, secret);
    if (!form.has('credential') && !form.has('password')) {
      const kept = html`<input type="hidden" name="secret" value="${secret}" />`;
      const main = html`<p>You join as <strong>${operator.email}</strong>.</p>
        ${newFactorForms(parts, { request }, operator, { purpose: 'join', action: '/dashboard/join', kept })}`;
      return sendPage(reply, 200, renderPlain({ title: 'Join', main }, passkeyScripts));
    }
    const { token, codes } = await joinService(access, secret, newFactorOf(form), fromOf(settings, request));
    setToken(settings, reply, token);
    if (codes.length === 0) return seeOther(reply, '/dashboard');
    return sendPage(reply, 200, renderPlain({ title: 'You have joined', main: recoveryCodes(codes, '/dashboard') }));
  });
}

/** The new factor in one of {@link newFactorForms}. */
export function newFactorOf(form: URLSearchParams): NewFactor {
  const answer = form.get('credential');
  const text = (name: string) => form.get(name) ?? '';
  return answer === null ? { password: text('password'), code: text('code'), totp: text('totp') } : { answer };
}

/** Forms for a new passkey, or a new password with an authenticator app, which is required beyond this machine. */
export function newFactorForms(
  { access, settings: { isExposed } }: LoginParts,
  { request }: { request: FastifyRequest },
  operator: Operator,
  { purpose, action, kept }: { purpose: string; action: string; kept: Html },
): Html {
  const offer = newTotpOffer(access, operator);
  const fields = html`${field('Password of at least 12 characters', 'password', 'password', 'new-password')}
  ${
    offer &&
    html`<input type="hidden" name="totp" value="${offer.sealed}" />
      <details ${isExposed && html`open`}>
        <summary>Authenticator app ${isExposed ? '(required)' : '(optional on this machine)'}</summary>
        ${qrCode(offer.uri, 'QR code for the authenticator app')}
        <p>Or type this secret: <code>${offer.secret}</code></p>
        ${field('Current code of the app', 'code', 'text', 'one-time-code', isExposed)}
      </details>`
  }`;
  return html`${passkeyForm(request, action, purpose, kept, 'Use a new passkey')}
    <h2>With a password, where passkeys do not work</h2>
    ${
      isExposed && !offer
        ? html`<p>
            A password needs an authenticator app, whose secret is encrypted: set <code>ENCRYPTION_KEY</code>.
          </p>`
        : html`<form method="post" action="${action}" class="stack">
            ${kept} ${fields}<button>Use the new password</button>
          </form>`
    }`;
}

export function recoveryCodes(codes: readonly string[], next: string): Html {
  return html`<p>
      Store these recovery codes. Each replaces a code of the authenticator app once; they are shown only now.
    </p>
    <ul>
      ${codes.map((code) => html`<li><code>${code}</code></li>`)}
    </ul>
    <p><a class="button" href="${next}">Continue</a></p>`;
}
