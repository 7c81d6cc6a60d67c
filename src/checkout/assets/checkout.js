// @ts-check
// Keeps a checkout page current without reloading it, asks the buyer's wallet for a transfer, copies its amount and address, and
// takes the buyer back to the merchant at the end.
// The page works without this script.

const FIRST_DELAY_MS = 1000;
const LONGEST_DELAY_MS = 5000;
const GROWTH = 1.3;
const FAILURES_BEFORE_TELLING = 2;
const SOON_SECONDS = 300;
/** Longer than the service takes to start a payment. */
const LONGEST_SUBMIT_MS = 20_000;

let delayMs = FIRST_DELAY_MS;
let failures = 0;
let leaving = false;
let looking = false;
let paying = false;
/** The transfers that a wallet has sent, so that none is sent twice while it is on its way. */
const sent = new Set();
/** Time at which the content of the page was rendered. */
let renderedAt = performance.now();
/** @type {ReturnType<typeof setTimeout> | undefined} */
let nextLook;
/** @type {ReturnType<typeof setInterval> | undefined} */
let countdown;

/** @param {string} selector */
function find(selector) {
  const element = document.querySelector(selector);
  return element instanceof HTMLElement ? element : null;
}

/** @param {string} text */
function announce(text) {
  const announcer = find('#announcer');
  if (announcer) announcer.textContent = text;
}

function watchesStatus() {
  const { status, final } = find('main')?.dataset ?? {};
  return status !== undefined && final === 'false' && !leaving;
}

function lookLater() {
  clearTimeout(nextLook);
  if (!watchesStatus() || document.hidden) return;
  nextLook = setTimeout(look, delayMs);
  delayMs = Math.min(delayMs * GROWTH, LONGEST_DELAY_MS);
}

function lookSoon() {
  delayMs = FIRST_DELAY_MS;
  clearTimeout(nextLook);
  if (watchesStatus() && !document.hidden) void look();
}

async function look() {
  if (looking) return;
  looking = true;
  const { status = '', version } = find('main')?.dataset ?? {};
  try {
    const response = await fetch(status, { cache: 'no-store' });
    if (!response.ok) throw new Error(`status ${response.status}`);
    const news = await response.json();
    if (String(news.version) !== version) await showNews();
    failures = 0;
  } catch {
    failures += 1;
  }
  looking = false;
  showConnection();
  lookLater();
}

/** Replaces the content of the page by the new one. The query can name the attempt from which the buyer has come back. */
async function showNews() {
  const response = await fetch(location.pathname + location.search, { cache: 'no-store' });
  if (!response.ok) throw new Error(`status ${response.status}`);
  const news = new DOMParser().parseFromString(await response.text(), 'text/html');
  const main = news.querySelector('main');
  // A form in flight already loads the new page.
  if (!main || leaving) return;
  find('main')?.replaceWith(document.adoptNode(main));
  renderedAt = performance.now();
  document.title = news.title;
  delayMs = FIRST_DELAY_MS;
  find('#heading')?.focus();
  prepare();
  announce([find('#heading'), find('[data-lede]'), find('[data-return]:not([hidden]) p')].map(textOf).join(' '));
}

/** @param {HTMLElement | null} element */
function textOf(element) {
  return element?.textContent.replace(/\s+/g, ' ').trim() ?? '';
}

/** Shows the link `Check again` only if polling fails. */
function showConnection() {
  const lost = failures >= FAILURES_BEFORE_TELLING;
  const text = lost ? 'No connection. We keep trying.' : 'Not confirmed yet. We keep checking.';
  const line = find('[data-live]');
  if (line && line.textContent !== text) line.textContent = text;
  const again = find('[data-again]');
  if (again) again.hidden = !lost;
}

/** Prepares new content. */
function prepare() {
  showConnection();
  showTimeLeft();
  showWallet();
  // Browsers offer the clipboard to encrypted pages and to this machine only.
  for (const button of document.querySelectorAll('[data-copy]')) {
    if (button instanceof HTMLElement) button.hidden = !navigator.clipboard;
  }
  const box = find('[data-return]');
  const link = find('[data-return-link]');
  if (!box || !(link instanceof HTMLAnchorElement) || cameBack()) return;
  let seconds = Number(box.dataset.return);
  box.hidden = false;
  clearInterval(countdown);
  countdown = setInterval(() => {
    seconds -= 1;
    const shown = find('[data-seconds]');
    if (shown) shown.textContent = String(Math.max(seconds, 0));
    if (seconds > 0) return;
    clearInterval(countdown);
    location.assign(link.href);
  }, 1000);
}

function showTimeLeft() {
  const line = find('[data-left]');
  if (!line) return;
  const seconds = Math.max(0, Math.round(Number(line.dataset.left) - (performance.now() - renderedAt) / 1000));
  line.textContent = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
  line.parentElement?.classList.toggle('soon', seconds < SOON_SECONDS);
}

/**
 * Shows the button of the wallet if the browser has one: https://eips.ethereum.org/EIPS/eip-1193. The button is disabled while the
 * wallet is asked, and for a transfer that the wallet has sent.
 */
function showWallet() {
  const part = find('[data-wallet]');
  const button = part?.querySelector('button');
  if (!part || !button || !('ethereum' in globalThis)) return;
  part.hidden = false;
  button.disabled = paying || sent.has(button.dataset.call);
}

/** @param {string} text */
function showWalletNote(text) {
  showWallet();
  const note = find('[data-wallet-note]');
  if (note) note.textContent = text;
  announce(text);
}

async function payFromWallet(/** @type {HTMLButtonElement} */ { dataset: { chain, network, token, call } }) {
  /** @type {{ ethereum: { request(call: { method: string, params?: unknown[] }): Promise<any> } }} */
  const { ethereum } = /** @type {any} */ (globalThis);
  paying = true;
  let step = 'connect';
  let result = 'Sent. It appears here as soon as the network has it.';
  showWalletNote('Confirm the transfer in your wallet.');
  try {
    const [from] = await ethereum.request({ method: 'eth_requestAccounts' });
    step = `switch to ${network}`;
    if (Number(await ethereum.request({ method: 'eth_chainId' })) !== Number(chain)) {
      await ethereum.request({ method: 'wallet_switchEthereumChain', params: [{ chainId: chain }] });
    }
    step = 'send the transfer';
    await ethereum.request({ method: 'eth_sendTransaction', params: [{ from, to: token, data: call, value: '0x0' }] });
    sent.add(call);
  } catch (error) {
    const { code, message } = /** @type {{ code?: number, message?: string }} */ (error ?? {});
    const reason =
      code === 4001 ? 'you declined.' : `${message ?? 'it gave no reason'}. Look there before you try again.`;
    result = `Your wallet did not ${step}: ${reason}`;
  }
  paying = false;
  showWalletNote(result);
}

async function copy(/** @type {HTMLButtonElement} */ button) {
  await navigator.clipboard.writeText(button.dataset.copy ?? '');
  button.textContent = 'Copied';
  announce('Copied');
}

function stay() {
  const box = find('[data-return]');
  if (!box || box.hidden) return;
  clearInterval(countdown);
  box.hidden = true;
  find('[data-return-link]')?.focus();
  announce('You stay on this page.');
}

/** Tells if the buyer came back with the back button, and must not be redirected again. */
function cameBack() {
  const [entry] = performance.getEntriesByType('navigation');
  return entry instanceof PerformanceNavigationTiming && entry.type === 'back_forward';
}

/** Ignores further submits for a time. No event reports that the buyer has stopped the first one, as in a slow network. */
function sendOnce(/** @type {SubmitEvent} */ event) {
  if (leaving) return event.preventDefault();
  leaving = true;
  clearTimeout(nextLook);
  event.submitter?.setAttribute('aria-busy', 'true');
  setTimeout(comeAlive, LONGEST_SUBMIT_MS);
}

function comeAlive() {
  leaving = false;
  const box = find('[data-return]');
  if (box) box.hidden = true;
  for (const button of document.querySelectorAll('[aria-busy]')) button.removeAttribute('aria-busy');
  lookSoon();
}

document.addEventListener('submit', sendOnce);
document.addEventListener('click', (event) => {
  const button = event.target instanceof Element && event.target.closest('button');
  if (!(button instanceof HTMLButtonElement)) return;
  if (button.closest('[data-return]')) stay();
  if (button.dataset.copy) void copy(button);
  if (button.dataset.call) void payFromWallet(button);
});
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') stay();
});
document.addEventListener('visibilitychange', lookSoon);
addEventListener('online', lookSoon);
// The back button may restore an old state of the page.
addEventListener('pageshow', (event) => event.persisted && comeAlive());

prepare();
setInterval(showTimeLeft, 1000);
lookLater();
find('#notice')?.focus();
// Neither a reload nor an update must show the notice again.
if (location.search.startsWith('?notice=')) history.replaceState(null, '', location.pathname);
if (find('[data-return]:not([hidden])')) announce(textOf(find('[data-return] p')));
