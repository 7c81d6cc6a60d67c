import type { Checkout } from '../domain/records.ts';
import type { Html } from '../html/html.ts';
import { refreshHead, renderAttempt } from './attempt-page.ts';
import { renderChoose, renderNoWay, renderNotTaken } from './choose-page.ts';
import type { Page, Shop } from './layout.ts';
import type { Notice } from './notices.ts';
import { renderExpired, renderFailed, renderPaid } from './result-page.ts';
import { type CheckoutState, isFinal } from './state.ts';

const TITLES: Record<CheckoutState['name'], string> = {
  choose: 'Choose how to pay',
  no_way: 'No way to pay right now',
  not_taken: 'This payment cannot be taken',
  waiting: 'Waiting for your payment',
  confirming: 'Confirming your payment',
  paid: 'Payment received',
  failed: 'Payment not completed',
  expired: 'Checkout expired',
};

/** The page of a checkout in whatever state it is. */
export function sessionPage(shop: Shop, { session }: Checkout, state: CheckoutState, notice: Notice | null): Page {
  const underWay = state.name === 'waiting' || state.name === 'confirming';
  return {
    title: TITLES[state.name],
    testMode: session.environment === 'sandbox',
    live: {
      statusPath: shop.paths.step(session.id, 'status'),
      version: session.version,
      final: isFinal(state),
    },
    // Whether a payment can be stopped is news for as long as it goes on, and no other news is.
    main: mainOf(shop, session, state, underWay === (notice === 'not_stopped') ? notice : null),
    ...(underWay && { head: refreshHead() }),
  };
}

function mainOf(shop: Shop, session: Checkout['session'], state: CheckoutState, notice: Notice | null): Html {
  switch (state.name) {
    case 'choose':
      return renderChoose(shop, session, state, notice);
    case 'no_way':
      return renderNoWay(shop, session, state, notice);
    case 'not_taken':
      return renderNotTaken(shop, session, state);
    case 'waiting':
    case 'confirming':
      return renderAttempt(shop, session, state, notice);
    case 'paid':
      return renderPaid(shop, session, state);
    case 'failed':
      return renderFailed(shop, session, state);
    case 'expired':
      return renderExpired(shop, session);
  }
}
