import { INSTRUMENTS } from '../../simulator/test-instruments.ts';
import { CommandError } from '../command-context.ts';
import type { Outcome } from './outcomes.ts';

/** A simulated buyer who submits the forms of the checkout and of the simulated provider. */
export interface Buyer {
  /** Does the next action (`goes_on`), or reports that none is possible yet (`waits`). */
  step(): Promise<'goes_on' | 'waits'>;
  /** True if the buyer has done everything for this outcome. */
  isDone(): boolean;
}

const REQUEST_TIMEOUT_MS = 30_000;
const SIMULATOR_PATH = '/simulator/pay/';

/** Parts of a checkout page that determine the next action. */
interface CheckoutPage {
  heading: string;
  /** Totals in cents by payment method, the preselected method first; empty if the page offers no choice. */
  totals: Map<string, string>;
  /** Number of the attempt in progress. */
  attempt: string | undefined;
  /** URL of the provider's page for this attempt. */
  onward: string | undefined;
  /** True if the only action on the page is to load it again. */
  isStuck: boolean;
}

/** Creates a buyer. `tell` receives a description of each action. */
export function createBuyer(options: {
  /** The buyer sends requests only to the origins of `serviceUrl` and `checkoutUrl`, even if a page links elsewhere. */
  serviceUrl: string;
  checkoutUrl: string;
  outcome: Outcome;
  kind: string | undefined;
  tell(what: string): void;
}): Buyer {
  const { serviceUrl, checkoutUrl, outcome, kind, tell } = options;
  const { instrument, once = false, ends } = outcome;
  const origins = new Set([serviceUrl, checkoutUrl].map((url) => new URL(url).origin));
  let isOpened = false;
  let hasPaid = false;
  let hasCancelled = false;
  /** Number of the last attempt that the buyer has made at the provider. */
  let lastAttempt: string | undefined;

  async function pay({ totals }: CheckoutPage): Promise<void> {
    const [proposed] = totals.keys();
    const chosen = kind ?? proposed!;
    const total = totals.get(chosen);
    if (total === undefined) {
      const offered = [...totals.keys()].join(', ');
      throw new CommandError(1, `the checkout offers no payment by ${chosen}, but by ${offered}`);
    }
    tell(`chooses to pay by ${chosen}`);
    hasPaid = true;
    const { headers } = await send(`${checkoutUrl}/pay`, { kind: chosen, [`total_${chosen}`]: total });
    const notice = /[?&]notice=(\w+)/.exec(headers.get('location') ?? '')?.[1];
    if (notice !== undefined) tell(`sees the notice: ${notice}`);
  }

  async function payAtProvider(url: string, id: string): Promise<void> {
    const { origin, pathname } = new URL(url);
    if (!origins.has(origin) || !pathname.includes(SIMULATOR_PATH)) {
      throw new CommandError(
        1,
        `the checkout links to ${url}, which is not the simulated provider at ${[...origins].join(' or ')}; nothing was sent there`,
        'Set --url to BASE_URL or CHECKOUT_URL of the service.\n',
      );
    }
    const { cardNumber } = INSTRUMENTS.find((each) => each.id === id)!;
    tell(`pays at the provider, with the outcome ${id}`);
    // The card page reads the card number; the pages of other payment methods read the outcome.
    await send(url, { outcome: id, number: cardNumber, expiry: '12 / 34', cvc: '123', name: 'Test Buyer' });
  }

  async function cancel(attempt: string): Promise<void> {
    tell('cancels the payment');
    hasCancelled = true;
    await send(`${checkoutUrl}/cancel`, { attempt });
  }

  async function send(url: string, form?: Record<string, string>): Promise<Response> {
    const { origin } = new URL(url);
    const post = form && { method: 'POST', body: new URLSearchParams(form), headers: { origin } };
    const response = await request(url, post);
    if (response.ok || (form && response.status === 303)) return response;
    throw new CommandError(1, `the page ${url} answered ${response.status}: ${headingOf(await response.text())}`);
  }

  return {
    isDone: () => lastAttempt !== undefined || hasCancelled,
    async step() {
      if (!isOpened) tell(`opens ${checkoutUrl}`);
      isOpened = true;
      const page = readPage(await (await send(checkoutUrl)).text(), checkoutUrl);
      const { totals, attempt, onward, isStuck } = page;
      const paysNow = instrument === null ? !hasPaid : !(once && lastAttempt !== undefined);
      if (totals.size > 0 && paysNow) await pay(page);
      else if (attempt !== undefined && (instrument === null || (isStuck && ends === 'payment.failed'))) {
        await cancel(attempt);
      } else if (onward !== undefined && attempt !== lastAttempt) {
        await payAtProvider(onward, instrument!);
        lastAttempt = attempt;
      } else if (isStuck && ends !== 'payment.failed') {
        throw new CommandError(1, `the checkout cannot continue: ${page.heading}; see tillway routes`);
      } else return 'waits';
      return 'goes_on';
    },
  };
}

function readPage(markup: string, url: string): CheckoutPage {
  const onward = /<a\b[^>]*\bhref="([^"]*)"[^>]*>\s*Continue/.exec(markup)?.[1];
  const isWaiting = /http-equiv="refresh"/.test(markup);
  const totals = new Map(
    Array.from(markup.matchAll(/name="total_(\w+)" value="(\d+)"/g), ([, kind, total]) => [kind!, total!]),
  );
  return {
    heading: headingOf(markup),
    totals,
    attempt: /name="attempt" value="(\d+)"/.exec(markup)?.[1],
    onward: onward && URL.parse(onward.replaceAll('&amp;', '&'), url)?.href,
    isStuck: totals.size === 0 && !isWaiting && />Check again</.test(markup),
  };
}

function headingOf(markup: string): string {
  const [, text = ''] = /<h1\b[^>]*>([^]*?)<\/h1>/.exec(markup) ?? [];
  return text.replaceAll(/<[^>]*>/g, '').trim();
}

async function request(url: string, init: RequestInit = {}): Promise<Response> {
  try {
    return await fetch(url, { ...init, redirect: 'manual', signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) });
  } catch (error) {
    const { message, cause } = error as Error;
    const why = cause instanceof Error && cause.message !== '' ? cause.message : message;
    const advice = 'The service sent this address: check its settings BASE_URL and CHECKOUT_URL.\n';
    throw new CommandError(1, `the page ${url} cannot be reached from here: ${why}`, advice);
  }
}
