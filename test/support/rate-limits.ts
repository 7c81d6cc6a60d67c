/** Disabled rate limits: all buyers of a test share one address, and a stopped clock never ends a window. */
export const NO_RATE_LIMITS = { PAGE_RATE_LIMIT: 'off', CALLBACK_RATE_LIMIT: 'off', PAYMENT_RATE_LIMIT: 'off' };
