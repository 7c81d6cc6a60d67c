import { assetAmount } from '../domain/money.ts';
import type { Session } from '../domain/records.ts';
import { type Html, html } from '../html/html.ts';
import type { Shop } from './checkout-layout.ts';
import { type Notice, heading, introduction, renderColumns, renderNotice, renderSums } from './checkout-parts.ts';
import type { CheckoutState } from './checkout-page-state.ts';
import { renderLiveLine, renderWaysOut } from './open-pages.ts';
import { qrCode } from './qr-code.ts';

type State = Extract<CheckoutState, { name: 'transfer' }>;
type Transfer = State['transfer'];

/** Selector of transfer(address,uint256): https://eips.ethereum.org/EIPS/eip-20 */
const TRANSFER = '0xa9059cbb';
const WORD_DIGITS = 64;
/** Time left from which the page marks it, as the script does. */
const SOON_SECONDS = 300;

/** The page of a payment by a transfer from the buyer's own wallet: what to send where, or that all of it was seen. */
export function renderTransferPage(shop: Shop, session: Session, state: State, notice: Notice | null): Html {
  const { attempt, transfer } = state;
  const content = transfer.missing > 0 ? renderInstructions(transfer) : renderSeen(transfer);
  // Money that has arrived cannot be abandoned.
  const mayLeave = attempt.payment.expectedBy === null && transfer.received === 0;
  return renderColumns(
    session,
    renderSums(attempt.payment.fees),
    html`${renderNotice(notice)} ${content} ${renderLiveLine(shop, session)}
    ${mayLeave && renderWaysOut(shop, session, attempt)}`,
  );
}

function renderSeen({ received, decimals, asset, network: { label }, confirmation }: Transfer): Html {
  const { blocks, words } = confirmation;
  return html`${heading('Your payment was seen', { icon: 'clock', mood: 'calm' })}
    ${introduction(`${assetAmount(received, decimals)} ${asset} has arrived on ${label}. You may close this page.`)}
    <p>
      ${
        blocks === null
          ? `It counts as paid when it is final on ${label}, after ${words}: until then, the network can still undo it.`
          : `It counts as paid after ${words} on ${label}. An amount as small as this one need not wait until it is final.`
      }
    </p>`;
}

function renderInstructions(transfer: Transfer): Html {
  const { network, asset, decimals, address, missing, received, isConfirming, secondsLeft } = transfer;
  const { label } = network;
  const amount = assetAmount(missing, decimals);
  const arrived = `${assetAmount(received, decimals)} ${asset} ${isConfirming ? 'was seen' : 'has arrived'}`;
  const isSoon = secondsLeft < SOON_SECONDS;
  return html`${heading(received > 0 ? `Send ${amount} ${asset} more` : `Send ${amount} ${asset}`)}
    ${introduction(received > 0 ? `${arrived}, send ${amount} more to the same address.` : `From your own wallet, or from an exchange.`)}
    ${renderWalletButton(transfer)}
    <dl class="transfer">
      ${row('Amount', html`<span class="pick">${amount}</span> ${asset}`, 'large', amount)}
      ${row('Network', html`${label} <span class="small">Only ${asset} on ${label}. Anything else may be lost.</span>`, 'large')}
      ${row('Address', html`<span class="pick">${address}</span>`, 'reference', address)}
      ${row('Time left', html`<span data-left="${secondsLeft}">${timeText(secondsLeft)}</span>`, isSoon ? 'soon' : 'time')}
    </dl>
    ${qrCode(address, `QR code of the address ${address}`)}
    <p class="small center">The code holds the address only. Choose ${asset} on ${label}, and enter the amount.</p>
    ${renderRequest(transfer)}`;
}

/** A row; the script shows the button for `toCopy` if the browser lets the page write to the clipboard. */
function row(term: string, detail: Html, look: 'large' | 'reference' | 'time' | 'soon', toCopy?: string): Html {
  const name = html`Copy<span class="unseen"> the ${term.toLowerCase()}</span>`;
  const copy = html`<button type="button" class="plain copy" data-copy="${toCopy}" hidden>${name}</button>`;
  return html`<div>
    <dt>${term} ${toCopy !== undefined && copy}</dt>
    <dd class="${look}">${detail}</dd>
  </div>`;
}

/** Button that the script shows if the browser has a wallet. */
function renderWalletButton({ network, asset, token, decimals, address, missing }: Transfer): Html {
  const word = (digits: string) => digits.toLowerCase().padStart(WORD_DIGITS, '0');
  const call = `${TRANSFER}${word(address.slice(2))}${word(missing.toString(16))}`;
  const label = `Pay ${assetAmount(missing, decimals)} ${asset} with your wallet`;
  return html`<div data-wallet hidden>
    <button
      type="button"
      class="button"
      data-chain="0x${network.chainId.toString(16)}"
      data-network="${network.label}"
      data-token="${token}"
      data-call="${call}"
    >
      ${label}
    </button>
    <p class="small center" data-wallet-note></p>
  </div>`;
}

/**
 * Payment request for wallets that understand it: https://eips.ethereum.org/EIPS/eip-681. Other wallets send the money to the token's
 * contract, where it is lost, so the request is not the first code of the page.
 */
function renderRequest({ network, asset, token, decimals, address, missing }: Transfer): Html {
  const request = `ethereum:${token}@${network.chainId}/transfer?address=${address}&uint256=${missing}`;
  return html`<details>
    <summary>My wallet reads payment requests</summary>
    <p class="small">
      This code also holds the token and the amount. Use it only if your wallet then shows
      ${assetAmount(missing, decimals)} ${asset} to the address above.
    </p>
    ${qrCode(request, 'QR code of the payment request')}
    <p class="center"><a class="plain" href="${request}">Open the request in a wallet</a></p>
  </details>`;
}

function timeText(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  if (minutes >= 120) return `${Math.floor(minutes / 60)} hours`;
  if (minutes >= 2) return `${minutes} minutes`;
  return minutes === 1 ? '1 minute' : 'less than a minute';
}
