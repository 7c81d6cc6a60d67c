/** All buyers of a test have one address, and with a clock that stands still no window ends. */
export const NO_RATE_LIMITS = { PAGE_RATE_LIMIT: 'off', CALLBACK_RATE_LIMIT: 'off', PAYMENT_RATE_LIMIT: 'off' };
