import type { FastifyInstance, FastifyRequest } from 'fastify';
import { qrCode } from '../../checkout/qr-code.ts';
import type { Operator } from '../../domain/operator.ts';
import { type Html, html } from '../../html/html.ts';
import { formOf, seeOther, sendPage } from '../../html/html-page.ts';
import { joinService } from '../../operations/access/operator-login.ts';
import { operatorOfInvite } from '../../operations/access/operators.ts';
import { newTotpOffer } from '../../operations/access/second-factor.ts';
import { renderPlain } from '../shell.ts';
import { type LoginParts, factorOf, fromOf, ownPath } from './login-pages.ts';
import { inputField, passkeyForm, passkeyScripts } from './passkey-form.ts';
import { setToken } from './session-cookie.ts';

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
    if (!form.has('credential') && !form.has('password')) {
      const main = html`<p>You join as <strong>${operator.email}</strong>.</p>
        ${newFactorForms(parts, request, operator, { secret, next })}`;
      return sendPage(reply, 200, renderPlain({ title: 'Join', main }, passkeyScripts));
    }
    const { token, codes } = await joinService(access, secret, factorOf(form), await fromOf(parts, request));
    setToken(settings, reply, token);
    if (codes.length === 0) return seeOther(reply, next);
    return sendPage(reply, 200, renderPlain({ title: 'Recovery codes', main: recoveryCodes(codes, next) }));
  });
}

/** Forms for a new passkey, or a new password with an authenticator app, which is required beyond this machine. `secret` is of the invitation. */
export function newFactorForms(
  { access, settings: { isExposed } }: LoginParts,
  request: FastifyRequest,
  operator: Operator,
  sent: { secret: string; next: string },
): Html {
  const kept = html`${Object.entries(sent).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`,
  )}`;
  const offer = newTotpOffer(access, operator);
  const app =
    offer &&
    html`<input type="hidden" name="totp" value="${offer.sealed}" />
      <details ${isExposed && html`open`}>
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

function recoveryCodes(codes: readonly string[], next: string): Html {
  return html`<p>
      Store these recovery codes. Each replaces a code of the authenticator app once; they are shown only now.
    </p>
    <ul>
      ${codes.map((code) => html`<li><code>${code}</code></li>`)}
    </ul>
    <p><a class="button" href="${next}">Continue</a></p>`;
}
