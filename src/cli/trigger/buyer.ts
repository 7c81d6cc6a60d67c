import { CommandError } from '../command-context.ts';
import type { Outcome } from './outcomes.ts';
import { type WebForm, type WebPage, filled, parsePage } from './html-pages.ts';

/** A buyer whose browser has no JavaScript: follows the links of pages and submits their forms. */
export interface Buyer {
  /** Does one action. `waits`: there is nothing to do but to look again later. */
  step(): Promise<'goes_on' | 'waits'>;
  /** True if the buyer has done everything for this outcome. */
  isDone(): boolean;
}

const REQUEST_TIMEOUT_MS = 30_000;
const MAX_REDIRECTS = 10;

/** `tell` takes a sentence for each action of the buyer. */
export function createBuyer(options: {
  /** The buyer visits only the origins of the service and of the checkout, wherever a page leads. */
  serviceUrl: string;
  checkoutUrl: string;
  outcome: Outcome;
  kind: string | undefined;
  tell(what: string): void;
}): Buyer {
  const { serviceUrl, checkoutUrl, outcome, kind, tell } = options;
  const send = createSender([serviceUrl, checkoutUrl]);
  const { instrument, once = false, ends } = outcome;
  let page: WebPage | undefined;
  let isOpened = false;
  let pressed = 0;
  let hasCancelled = false;

  async function submit(at: WebPage, form: WebForm, chosen: Record<string, string> = {}): Promise<void> {
    const { origin } = new URL(at.url);
    page = await send(form.url, { method: 'POST', body: filled(form, chosen), headers: { origin } });
  }

  async function payAtCheckout(at: WebPage, form: WebForm): Promise<void> {
    const kinds = form.fields.filter(({ name }) => name === 'kind');
    const chosen = kind ?? (kinds.find(({ isChecked }) => isChecked) ?? kinds[0])?.value ?? '';
    if (!kinds.some(({ value }) => value === chosen)) {
      const offered = kinds.map(({ value }) => value).join(', ');
      throw new CommandError(1, `the checkout offers no payment by ${chosen}, but by ${offered}`);
    }
    tell(`chooses to pay by ${chosen}`);
    await submit(at, form, { kind: chosen });
    const notice = /[?&]notice=(\w+)/.exec(page!.url)?.[1];
    if (notice !== undefined) tell(`is told: ${page!.heading}`);
  }

  /** The card page names outcomes by links that fill in the form, the other pages by radio buttons. */
  async function payAtProvider(at: WebPage, name: string): Promise<void> {
    const link = at.links.find(({ url }) => new URL(url).searchParams.get('use') === name);
    const shown = link ? await send(link.url) : at;
    const form = shown.forms.find(({ fields }) => fields.some((field) => ['number', 'outcome'].includes(field.name)));
    const isOffered = link !== undefined || form?.fields.some(({ value }) => value === name);
    if (!form || !isOffered) throw notSimulated(at);
    tell(`presses "${form.button}" at the provider, with the outcome ${name}`);
    await submit(shown, form, { outcome: name });
    pressed += 1;
  }

  async function goBackAndCancel(): Promise<'goes_on' | 'waits'> {
    const checkout = await send(checkoutUrl);
    const form = checkout.forms.find(({ button }) => /^cancel/i.test(button));
    if (!form) {
      page = undefined;
      return 'waits';
    }
    tell(`presses "${form.button}"`);
    hasCancelled = true;
    await submit(checkout, form);
    return 'goes_on';
  }

  /** On a page of the provider, or between the checkout and it. */
  async function goOn(at: WebPage): Promise<'goes_on' | 'waits'> {
    if (instrument === null) return goBackAndCancel();
    if (at.leadsTo !== null) page = await send(at.leadsTo);
    else await payAtProvider(at, instrument);
    return 'goes_on';
  }

  async function atCheckout(at: WebPage): Promise<'goes_on' | 'waits'> {
    const ways = at.forms.find(({ fields }) => fields.some(({ name }) => name === 'kind'));
    if (ways && !(once && pressed > 0)) {
      await payAtCheckout(at, ways);
      return 'goes_on';
    }
    const onward = at.links.find(({ text }) => /^continue/i.test(text));
    if (onward && pressed === 0) {
      page = await send(onward.url);
      return 'goes_on';
    }
    // The page offers nothing, and waits for nothing but another request.
    const isStuck = !ways && !at.waits && at.links.some(({ url }) => url === checkoutUrl);
    if (isStuck && ends === 'payment.failed') return goBackAndCancel();
    if (isStuck) throw noWay(at);
    page = undefined;
    return 'waits';
  }

  return {
    isDone: () => pressed > 0 || hasCancelled,
    async step() {
      if (!isOpened) tell(`opens ${checkoutUrl}`);
      isOpened = true;
      page ??= await send(checkoutUrl);
      return page.url.split('?')[0] === checkoutUrl ? atCheckout(page) : goOn(page);
    },
  };
}

function noWay({ heading }: WebPage): CommandError {
  return new CommandError(
    1,
    `the checkout says: ${heading}`,
    'tillway routes shows where the routes stand; one that has failed is tried again after a while.\n',
  );
}

function notSimulated({ url, heading }: WebPage): CommandError {
  return new CommandError(
    1,
    `the provider's page ${url} ("${heading}") is not one of the simulated provider, so that nothing was pressed there`,
    'Only the simulated provider lets an outcome be chosen: use a service whose sandbox routes lead to it.\n',
  );
}

type Send = (
  url: string,
  init?: { method: 'POST'; body: URLSearchParams; headers: { origin: string } },
) => Promise<WebPage>;

/** Fetches pages of these origins and follows redirects as browsers do. It sends nothing to other origins. */
function createSender(urls: readonly string[]): Send {
  const origins = new Set(urls.map((url) => new URL(url).origin));

  return async (url, init) => {
    let at = url;
    let sent: RequestInit = init ?? {};
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
      if (!origins.has(new URL(at).origin)) throw ledElsewhere(at, origins);
      const response = await request(at, sent);
      const target = response.headers.get('location');
      if (response.status >= 300 && response.status < 400 && target !== null) {
        at = URL.parse(target, at)?.href ?? at;
        sent = {};
        continue;
      }
      const page = parsePage(await response.text(), at);
      if (response.ok) return page;
      throw new CommandError(1, `the page ${at} answered ${response.status}: ${page.heading}`);
    }
    throw new CommandError(1, `the page ${url} leads from one page to the next without an end`);
  };
}

function ledElsewhere(url: string, origins: ReadonlySet<string>): CommandError {
  return new CommandError(
    1,
    `a page leads to ${url}, and nothing was sent there: the buyer stays at ${[...origins].join(' and ')}`,
    'Where that is the same service under another name, give that name as --url: see BASE_URL and CHECKOUT_URL where it runs.\n',
  );
}

async function request(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, { ...init, redirect: 'manual', signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) });
  } catch (error) {
    const { message, cause } = error as Error;
    const why = cause instanceof Error && cause.message !== '' ? cause.message : message;
    throw new CommandError(
      1,
      `the page ${url} cannot be reached from here: ${why}`,
      'The service names this address itself: see BASE_URL and CHECKOUT_URL where it runs.\n',
    );
  }
}
