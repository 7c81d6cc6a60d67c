// @ts-check
// Asks the browser for a passkey when a form needs one, and takes the secret of an invitation out of the address.

/** @type {Record<'startAuthentication' | 'startRegistration', (options: object) => Promise<object>>} */
const { startAuthentication, startRegistration } = Reflect.get(window, 'SimpleWebAuthnBrowser');

/** @param {HTMLFormElement} form */
async function ask(form) {
  const body = new URLSearchParams();
  for (const [name, value] of new FormData(form)) if (typeof value === 'string') body.append(name, value);
  const answer = await fetch('/dashboard/challenge', { method: 'POST', body });
  if (!answer.ok) throw new Error('This page is no longer valid. Open it again.');
  const optionsJSON = await answer.json();
  const start = body.has('secret') ? startRegistration : startAuthentication;
  const field = form.querySelector('[name=credential]');
  if (field instanceof HTMLInputElement) field.value = JSON.stringify(await start({ optionsJSON }));
  form.submit();
}

document.addEventListener('submit', (event) => {
  const form = event.target;
  if (!(form instanceof HTMLFormElement) || form.dataset['passkey'] === undefined) return;
  event.preventDefault();
  const fault = form.querySelector('[role=alert]');
  if (fault instanceof HTMLElement) fault.hidden = true;
  ask(form).catch((error) => {
    if (fault instanceof HTMLElement) Object.assign(fault, { textContent: error.message, hidden: false });
  });
});

if (location.pathname === '/dashboard/join') {
  // A new link in the same tab changes only the fragment. With an empty query, the browser loads a new page.
  addEventListener('hashchange', () => location.replace(`${location.pathname}?${location.hash}`));
}

const secret = document.querySelector('form[data-invitation] [name=secret]');
if (secret instanceof HTMLInputElement && location.hash.length > 1) {
  secret.value = location.hash.slice(1);
  // The secret must not stay in the history of the browser.
  history.replaceState(null, '', location.pathname);
  secret.form?.requestSubmit();
}
