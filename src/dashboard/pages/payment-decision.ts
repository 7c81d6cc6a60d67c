import { renderDecision } from '../../contract/routing-decision-contract.ts';
import { formatUsd, usd } from '../../domain/money.ts';
import type { Payment } from '../../domain/records.ts';
import { type Html, html } from '../../html/html.ts';
import type { Replayed } from '../../operations/routing/stored-decisions.ts';
import { percentText } from '../components/figures.ts';
import { facts, table } from '../components/parts.ts';

export function renderFees({ amount, fees, providerCost, actualCost }: Payment): Html {
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

/** A routing decision with the estimates of its routes. */
export function renderChoice({ decided, identical, note }: Replayed): Html {
  const { mode, reason, rules, rulesVersion, candidates } = renderDecision(decided);
  const routes = table<(typeof candidates)[number]>(
    'Routes with their expected success',
    [
      {
        name: 'Route',
        cell: ({ rank, route, health, excluded }) =>
          html`${rank !== null && `${rank}. `}<code>${route}</code>${health !== 'live' && ` ${health}`}
            <span class="hint">${excluded}</span>`,
      },
      {
        name: 'Success',
        cell: ({ expectedSuccess, low, high, offsets }) =>
          html`<meter value="${expectedSuccess}" aria-hidden="true"></meter> ${percentText(expectedSuccess)}
            <span class="hint">(${percentText(low)} to ${percentText(high)})</span>
            ${offsets.map(
              ({ context, value, ratio }) =>
                html`<span class="hint">${context} ${value}: fails ${ratio} times as often</span>`,
            )}`,
      },
      {
        name: 'Cost',
        isNumber: true,
        cell: ({ cost, lostRate }) =>
          html`${(cost * 100).toFixed(2)}%
          ${lostRate > 0 && html`<span class="hint">includes ${percentText(lostRate)} lost money</span>`}`,
      },
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
