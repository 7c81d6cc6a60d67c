import { formatUsd } from '../domain/money.ts';
import { loadStyle } from '../html/assets.ts';
import { iconOf, renderFrame } from '../html/frame.ts';
import { type Html, html } from '../html/html.ts';
import type { Charge } from './simulator-store.ts';

export const STYLESHEET = loadStyle(new URL('./assets/simulator.css', import.meta.url));

// The hazard tape of the provider's pages.
const ICON = iconOf(
  '<rect width="16" height="16" rx="4" fill="#ffcf33"/><path d="M3 13 13 3M1 8l7-7M8 15l7-7" stroke="#1c1a2b" stroke-width="2.5"/>',
);

export interface LayoutOptions {
  title: string;
  body: Html;
  /** URL that the browser opens at once. */
  refreshTo?: string;
  wide?: boolean;
}

/** Frame of the simulated provider's pages. They must not be mistaken for those of a real provider. */
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

/** Merchant, product, fee and total. */
export function receipt(charge: Charge): Html {
  const fee = charge.total - charge.amount;
  return html`<section class="receipt" aria-labelledby="receipt-title">
    <h2 id="receipt-title">Pay ${charge.merchant}</h2>
    <p class="total">${formatUsd(charge.total)}</p>
    <dl>
      ${row(charge.product, formatUsd(charge.amount))} ${fee !== 0 && row('Fee', formatUsd(fee))}
      <div class="sum">
        <dt>Total in US dollars</dt>
        <dd>${formatUsd(charge.total)}</dd>
      </div>
    </dl>
  </section>`;
}

/** A row of a description list. */
export function row(term: string, description: string): Html {
  return html`<div>
    <dt>${term}</dt>
    <dd>${description}</dd>
  </div>`;
}
