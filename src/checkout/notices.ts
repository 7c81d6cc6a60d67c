/** Messages about the step that led to a page, by the code in `?notice=`. */
export const NOTICES = {
  no_route: 'This way to pay is not available any more. You have not been charged: please choose another one.',
  fee_changed: 'The fee has changed since you opened this page. You have not been charged: please check the new total.',
  refused: 'The payment could not be started. You have not been charged.',
  closed: 'This checkout takes no further payment. You have not been charged.',
  not_stopped: 'This payment cannot be stopped right now. Please try again in a moment.',
  kept_open: 'Nothing was charged. You can still pay here, or simply close this page.',
} as const;

export type Notice = keyof typeof NOTICES;

/** Null for an unknown code. */
export function readNotice(code: unknown): Notice | null {
  return typeof code === 'string' && Object.hasOwn(NOTICES, code) ? (code as Notice) : null;
}
