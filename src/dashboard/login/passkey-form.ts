import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import type { FastifyRequest } from 'fastify';
import { loadScript } from '../../html/assets.ts';
import { type Html, html } from '../../html/html.ts';
import { allowsPasskeys } from './session-cookie.ts';

const LIBRARY = createRequire(import.meta.url).resolve('@simplewebauthn/browser');
const BUNDLE = loadScript(new URL('../dist/bundle/index.umd.min.js', pathToFileURL(LIBRARY)));
const SCRIPT = loadScript(new URL('../assets/passkey.js', import.meta.url));
export const PASSKEY_ASSETS = [BUNDLE, SCRIPT];

/** Scripts of pages with a passkey or an invitation. */
export const passkeyScripts: Html = html`<script src="${BUNDLE.path}" integrity="${BUNDLE.integrity}" defer></script>
  <script type="module" src="${SCRIPT.path}" integrity="${SCRIPT.integrity}"></script>`;

/** Form that asks the browser for a passkey; at a network address, where browsers reject passkeys, a link to the same page at `localhost`. */
export function passkeyForm(request: FastifyRequest, action: string, kept: Html, button: string): Html {
  const { host, url, method } = request;
  if (!allowsPasskeys(request)) {
    const local = `http://localhost:${host.split(':').at(-1)}${method === 'GET' ? url : '/dashboard/login'}`;
    const isLocal = /^(?:127\.0\.0\.1|\[::1\])(?::|$)/.test(host);
    return html`<p>
      Browsers accept passkeys only for a host name, not for a network address.
      ${isLocal && html`<a href="${local}">Open this page at localhost</a> to use a passkey.`}
    </p>`;
  }
  return html`<form method="post" action="${action}" data-passkey class="stack">
    ${kept}<input type="hidden" name="credential" />
    <button class="button">${button}</button>
    <p role="alert" class="fault" hidden></p>
    <noscript><p class="small">Passkeys need JavaScript.</p></noscript>
  </form>`;
}
