const FIRST_WINDOW = 8;
const MAX_WINDOW = 32;
// Wide enough that sessions with failing events do not block the other sessions of the endpoint.
const MIN_WINDOW = 4;
// An attempt that takes longer no longer counts in the window, so that a hanging attempt does not delay other sessions of the
// endpoint.
const PATIENCE_MS = 1000;
// Number of windows of deliveries claimed in advance, so that an attempt begins without a commit when a place becomes free.
const AHEAD = 5;

/** Limit of the attempts in progress to one endpoint: grows with every success, shrinks with every failure. */
export interface AttemptWindow {
  /** Takes a place for an attempt. The returned function frees the place when the attempt has ended. */
  begin(): (succeeded: boolean) => void;
  /** Number of the `claimed` deliveries whose attempts may begin now. */
  beginnable(claimed: number): number;
  /** Number of deliveries that may be claimed in addition to the `claimed` ones. */
  claimable(claimed: number): number;
}

export function createAttemptWindow(): AttemptWindow {
  let width = FIRST_WINDOW;
  /** Start of each attempt in progress, by the monotonic clock. */
  const inProgress = new Set<{ since: number }>();

  /** Limit for the sockets of a hanging endpoint, and for claims, so that each attempt begins well within its lease. */
  function maxInProgress(): number {
    return Math.max(width, FIRST_WINDOW) * (1 + AHEAD);
  }

  function freePlaces(): number {
    const patience = performance.now() - PATIENCE_MS;
    let quick = 0;
    for (const { since } of inProgress) if (since > patience) quick++;
    return Math.min(width - quick, maxInProgress() - inProgress.size);
  }

  return {
    begin() {
      const place = { since: performance.now() };
      inProgress.add(place);
      return (succeeded) => {
        inProgress.delete(place);
        width = succeeded ? Math.min(width + 1, MAX_WINDOW) : Math.max(Math.floor(width / 2), MIN_WINDOW);
      };
    },
    // Deliveries claimed under a wider window must not wait until their lease ends.
    beginnable: (claimed) => Math.max(0, freePlaces(), claimed - AHEAD * width),
    claimable: (claimed) => Math.min(freePlaces() + AHEAD * width, maxInProgress() - inProgress.size) - claimed,
  };
}
