// @ts-check
// Keeps a page of the dashboard current, and copies ids. The pages work without this script.

const EVERY_MS = 5000;

/** @type {{ morph(from: Element, to: Element, options: object): void }} */
const Idiomorph = Reflect.get(window, 'Idiomorph');

let isFetching = false;

/** @type {(name: string, element: Element) => boolean} */
const beforeAttributeUpdated = (name, element) => !(name === 'open' && element instanceof HTMLDetailsElement);

/**
 * True if an element is updated. A form of filters stays as it is, because a person may be filling it in.
 * @type {(from: Node) => boolean}
 */
const beforeNodeMorphed = (from) => !(from instanceof HTMLFormElement && from.method === 'get');

/** Fetches the page again and changes only what differs, so that focus, selection, open details and filled filters stay. */
async function refresh() {
  const main = document.querySelector('main[data-live]');
  if (!main || document.hidden || isFetching) return;
  isFetching = true;
  try {
    const answer = await fetch(location.href, { redirect: 'manual' });
    // The session has ended, so the reload leads to the login. Otherwise the old page would look current.
    if (answer.type === 'opaqueredirect') location.reload();
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    const next = page.querySelector('main[data-live]');
    if (!next) return;
    Idiomorph.morph(main, next, { ignoreActiveValue: true, callbacks: { beforeAttributeUpdated, beforeNodeMorphed } });
  } catch {
    // The service is away for a moment, or the browser is offline: the next attempt shows the page again.
  } finally {
    isFetching = false;
  }
}

/** @param {MouseEvent} event */
async function copy(event) {
  const button = event.target instanceof Element ? event.target.closest('[data-copy]') : null;
  if (!(button instanceof HTMLElement)) return;
  await navigator.clipboard.writeText(button.dataset['copy'] ?? '');
  const announcer = document.querySelector('#announcer');
  if (announcer) announcer.textContent = `Copied ${button.dataset['copy'] ?? ''}`;
}

document.addEventListener('click', (event) => void copy(event));
setInterval(() => void refresh(), EVERY_MS);
