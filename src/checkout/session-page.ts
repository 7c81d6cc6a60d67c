import type { Checkout } from '../domain/records.ts';
import type { Html } from '../html/html.ts';
import { REFRESH_HEAD, renderAttempt } from './attempt-page.ts';
import { renderChoose, renderNoMethod, renderNotTaken } from './choose-page.ts';
import type { Page, Shop } from './checkout-layout.ts';
import type { Notice } from './notices.ts';
import { renderExpired, renderFailed, renderPaid } from './result-page.ts';
import { type CheckoutState, isFinal } from './checkout-page-state.ts';

const TITLES: Record<CheckoutState['name'], string> = {
  choose: 'Choose how to pay',
  no_method: 'No way to pay right now',
  not_taken: 'This payment cannot be taken',
  waiting: 'Waiting for your payment',
  confirming: 'Confirming your payment',
  paid: 'Payment received',
  failed: 'Payment not completed',
  expired: 'Checkout expired',
};

/** The page of a checkout in any state. */
export function sessionPage(shop: Shop, { session }: Checkout, state: CheckoutState, notice: Notice | null): Page {
  const inProgress = state.name === 'waiting' || state.name === 'confirming';
  return {
    title: TITLES[state.name],
    testMode: session.environment === 'sandbox',
    live: {
      statusPath: shop.paths.step(session.id, 'status'),
      version: session.version,
      final: isFinal(state),
    },
    // A payment in progress shows this notice only, and other states show every other notice.
    main: mainOf(shop, session, state, inProgress === (notice === 'not_stopped') ? notice : null),
    ...(inProgress && { head: REFRESH_HEAD }),
  };
}

function mainOf(shop: Shop, session: Checkout['session'], state: CheckoutState, notice: Notice | null): Html {
  switch (state.name) {
    case 'choose':
      return renderChoose(shop, session, state, notice);
    case 'no_method':
      return renderNoMethod(shop, session, state, notice);
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
