import { type Tillway, TillwayError, type WebhookEvent } from '../../../sdk/src/index.ts';
import type { Deliverer } from '../../webhooks/deliver.ts';
import type { Terminal } from '../context.ts';
import { createEventFeed } from './feed.ts';
import { type Forwarder, createForwarder } from './forward.ts';
import { type ListenOptions, type SigningSecret, againCommand, sinceOf } from './settings.ts';
import type { Ending, ListenWords } from './words.ts';

const POLL_MS = 500;
const PAGE = 100;
const READ_TIMEOUT_MS = 10_000;

/** Prints and forwards what happens, until Ctrl-C. */
export interface Listening {
  /** Resolves when it is interrupted. Rejects where the service cannot be read at the start, or nobody reads the output. */
  run(): Promise<void>;
  /** What it has come to. */
  counts(): Ending;
}

export function createListening(listening: {
  terminal: Terminal;
  client: Tillway;
  url: string;
  options: ListenOptions;
  types: ReadonlySet<string>;
  secret: SigningSecret;
  said: ListenWords;
  deliverer: Deliverer;
}): Listening {
  const { terminal, client, url, options, types, secret, said, deliverer } = listening;
  const signal = terminal.interruption();
  const requests = { signal, maxRetries: 0, timeoutMs: READ_TIMEOUT_MS };
  const query = { limit: PAGE, ...(options.environment && { environment: options.environment }) };
  const feed = createEventFeed({
    newestFirst: () => client.events.list(query, requests).pages(),
    feed: (after) => client.events.feed({ ...query, after }, requests).pages(),
  });
  const counts = { events: 0, forwarded: 0, failed: 0 };
  /** The events that the target has not taken, by their number. */
  const open = new Map<number, string>();
  let fault: unknown;

  const forwarder: Forwarder | undefined =
    options.forwardTo === undefined
      ? undefined
      : createForwarder({
          url: options.forwardTo,
          secret: secret.text,
          deliverer,
          now: terminal.now,
          sleep: (ms) => terminal.sleep(ms, signal),
          signal,
          report(forwarded) {
            if (forwarded.failure === null) {
              counts.forwarded += 1;
              open.delete(forwarded.number);
            } else if (forwarded.nextTryMs === null) counts.failed += 1;
            terminal.write(said.forwarded(forwarded));
          },
          onFault: (error) => (fault ??= error),
        });

  function show(events: readonly WebhookEvent[]): void {
    for (const event of events.filter(({ type }) => types.has(type))) {
      counts.events += 1;
      const numbered = { number: counts.events, event };
      terminal.write(said.event(numbered));
      if (!forwarder) continue;
      open.set(numbered.number, event.id);
      forwarder.forward(numbered);
    }
  }

  /** Until the signal: asks, prints, forwards. Where the service does not answer, it says so once, and goes on asking. */
  async function follow(): Promise<void> {
    let isAway = false;
    while (!signal.aborted) {
      await terminal.sleep(POLL_MS, signal);
      if (fault !== undefined) throw fault;
      if (signal.aborted) return;
      const polled = await feed.poll().catch((error: unknown) => {
        if (error instanceof TillwayError) return error;
        throw error;
      });
      if (polled instanceof TillwayError) {
        if (!isAway && !signal.aborted) terminal.write(said.away(url, polled.message));
        isAway = true;
        continue;
      }
      if (isAway) terminal.write(said.back(url));
      isAway = false;
      if (polled.isOtherHistory) terminal.write(said.otherHistory(url));
      show(polled.events);
    }
  }

  return {
    async run() {
      try {
        const since = await sinceOf(options, client, { now: terminal.now, requests });
        const before = await feed.start(since);
        const { forwardTo } = options;
        terminal.write(said.started({ url, forwardTo, secret: forwardTo === undefined ? undefined : secret }));
        show(before);
        await follow();
      } catch (error) {
        if (!signal.aborted) throw error;
      }
    },
    counts() {
      const oldest = open.size === 0 ? undefined : open.get(Math.min(...open.keys()));
      const again = oldest === undefined ? null : againCommand(oldest, options, secret);
      return { ...counts, waiting: forwarder?.waiting() ?? 0, again };
    },
  };
}
