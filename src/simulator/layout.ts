import { loadStyle } from '../html/assets.ts';
import { iconOf, renderFrame } from '../html/frame.ts';
import { type Html, html } from '../html/html.ts';
import type { SimulatedPayment } from '../store/simulator.ts';

export const STYLESHEET = loadStyle(new URL('./assets/simulator.css', import.meta.url));

// The hazard tape of the provider's pages.
const ICON = iconOf(
  '<rect width="16" height="16" rx="4" fill="#ffcf33"/><path d="M3 13 13 3M1 8l7-7M8 15l7-7" stroke="#1c1a2b" stroke-width="2.5"/>',
);

let dollarFormat: Intl.NumberFormat | undefined;

/** Cents as `$49.99`. */
export function dollars(cents: number): string {
  // The first number format of a process takes 10 ms, which the start does not wait for.
  dollarFormat ??= new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD' });
  return dollarFormat.format(cents / 100);
}

export interface LayoutOptions {
  title: string;
  body: Html;
  /** Sends the browser on at once. */
  refreshTo?: string;
  wide?: boolean;
}

/** Every page of the simulated provider: it must never be taken for a real one. */
export function layout({ title, body, refreshTo, wide = false }: LayoutOptions): Html {
  const head = html`<meta name="robots" content="noindex" />
    ${refreshTo !== undefined && html`<meta http-equiv="refresh" content="0;url=${refreshTo}" />`}`;
  const page = html`<header class="top">
      <p class="banner"><strong>Simulation: no money moves</strong></p>
      <p class="brand"><span class="mark" aria-hidden="true"></span>Simulated provider</p>
    </header>
    <main class="${wide ? 'wide' : 'narrow'}">${body}</main>
    <footer>
      <p>
        A stand-in for a bank, card or wallet company, for tests only.
        <a href="/simulator">All test outcomes</a>
      </p>
    </footer>`;
  return renderFrame({ title: `${title} - Simulated provider`, style: STYLESHEET, icon: ICON, head, body: page });
}

/** What the buyer is about to pay, and to whom. */
export function receipt(payment: SimulatedPayment): Html {
  const fee = payment.total - payment.amount;
  return html`<section class="receipt" aria-labelledby="receipt-title">
    <h2 id="receipt-title">Pay ${payment.merchant}</h2>
    <p class="total">${dollars(payment.total)}</p>
    <dl>
      <div>
        <dt>${payment.product}</dt>
        <dd>${dollars(payment.amount)}</dd>
      </div>
      ${
        fee !== 0 &&
        html`<div>
          <dt>Fee</dt>
          <dd>${dollars(fee)}</dd>
        </div>`
      }
      <div class="sum">
        <dt>Total in US dollars</dt>
        <dd>${dollars(payment.total)}</dd>
      </div>
    </dl>
  </section>`;
}
