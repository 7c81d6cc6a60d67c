import { renderDecision } from '../../contract/routing-decision-contract.ts';
import type { JournalEntry } from '../../domain/ledger.ts';
import { formatUsd, usd } from '../../domain/money.ts';
import type { Payment } from '../../domain/records.ts';
import { type Html, html } from '../../html/html.ts';
import type { Replayed } from '../../operations/routing/stored-decisions.ts';
import type { Timeline } from '../../operations/timeline.ts';
import { words } from '../components/figures.ts';
import { type Column, facts, table } from '../components/parts.ts';
import { bookedLines } from './payment-timeline.ts';

/** The column beside the timeline: the fees, the newest routing decision and the ledger. */
export function renderBeside(timeline: Timeline, leading: Payment | undefined): Html {
  const newest = timeline.replays.at(-1);
  const booked = bookedLines(timeline);
  return html`${leading && renderFees(leading)} ${newest && renderChoice(newest)}
  ${booked.length > 0 && renderLedger(booked)}`;
}

function renderFees({ amount, fees, providerCost, actualCost }: Payment): Html {
  return html`<section aria-labelledby="fees">
    <h2 id="fees">Fees</h2>
    ${facts([
      ['Amount', formatUsd(amount)],
      ["Buyer's fee", formatUsd(fees.buyerFee)],
      ['Total', html`<strong>${formatUsd(fees.total)}</strong>`],
      ["Gateway's fee", formatUsd(fees.gatewayFee)],
      ["Merchant's share", formatUsd(fees.merchantNet)],
      ["Provider's charge", actualCost === null ? `${formatUsd(providerCost)} (estimate)` : usd(actualCost)],
    ])}
  </section>`;
}

function renderChoice({ decided, identical, note }: Replayed): Html {
  const { mode, reason, rules, rulesVersion, candidates } = renderDecision(decided);
  const routes = table<(typeof candidates)[number]>(
    'Routes with their expected success',
    [
      {
        name: 'Route',
        cell: ({ rank, route, health, excluded }) =>
          html`${rank ?? '-'}. <code>${route}</code>${health !== 'live' && ` ${health}`}
            <span class="hint">${excluded}</span>`,
      },
      { name: 'Success', cell: ({ expectedSuccess, low, high }) => renderEstimate(expectedSuccess, low, high) },
      { name: 'Cost', isNumber: true, cell: ({ cost }) => percent(cost, 2) },
    ],
    candidates.toSorted((a, b) => (a.rank ?? Infinity) - (b.rank ?? Infinity)),
  );
  return html`<section aria-labelledby="decision">
    <h2 id="decision">Why this route</h2>
    <p>${reason}.</p>
    ${routes}
    ${facts([
      ['Mode', mode],
      ['Rules', rulesVersion === 0 ? 'none' : `version ${rulesVersion}`],
      ...rules.map(({ id, effect }): [string, string] => [`Rule ${id}`, effect]),
      ['Recomputed', identical ? 'identical' : `different${note === null ? '' : `: ${note}`}`],
    ])}
  </section>`;
}

/** The estimate as a bar, and its interval as a line across the end of the bar. */
function renderEstimate(estimate: number, low: number, high: number): Html {
  const [at, from, to] = [estimate, low, high].map((share) => (share * 100).toFixed(1));
  return html`<svg class="estimate" viewBox="0 0 100 12" preserveAspectRatio="none" aria-hidden="true">
      <rect class="track" width="100" height="12" />
      <rect class="bar" width="${at}" height="12" />
      <path class="interval" d="M${from} 6H${to}M${from} 3V9M${to} 3V9" />
    </svg>
    ${percent(estimate, 1)} <span class="hint">(${percent(low, 0)} to ${percent(high, 0)})</span>`;
}

function percent(share: number, decimals: number): string {
  return `${(share * 100).toFixed(decimals)} %`;
}

function renderLedger(entries: readonly JournalEntry[]): Html {
  const columns: Column<JournalEntry>[] = [
    { name: 'Posting', cell: ({ kind }) => words(kind) },
    { name: 'Account', cell: ({ account }) => words(account) },
    { name: 'Amount', isNumber: true, cell: ({ amount }) => usd(amount) },
  ];
  return html`<section aria-labelledby="ledger">
    <h2 id="ledger">Ledger</h2>
    ${table('Debits are positive, credits negative', columns, entries)}
    <p class="sum">Sum <strong>${usd(entries.reduce((sum, { amount }) => sum + amount, 0))}</strong></p>
  </section>`;
}
