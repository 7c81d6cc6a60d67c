import type { Command } from 'commander';
import { TillwayError, type WebhookEvent } from '../../../sdk/src/index.ts';
import { type CommandContext, describedCommand, jsonLineOf } from '../command-context.ts';
import { EVENT_TYPES, environmentOption, eventTypesOf, option } from '../options.ts';
import { createEventFeed } from './event-follower.ts';
import type { Forwarded } from './forwarder.ts';
import {
  type ListenOptions,
  type SigningSecret,
  againCommand,
  signingSecretOf,
  sinceOf,
  targetOf,
} from './listen-options.ts';
import type { Note } from './listen-notes.ts';

const POLL_MS = 500;
const PAGE = 100;
const READ_TIMEOUT_MS = 10_000;

/** `listen`: prints events as they happen, and forwards them signed, until it is interrupted. */
export function listenCommand(context: CommandContext): Command {
  const command = describedCommand('listen', {
    summary: 'Print each event as it happens, and forward it to your own machine',
    details:
      'Forwards as the service delivers: the same bytes, headers and order, signed with a secret that is printed at the ' +
      'start. No endpoint is registered, and nothing has to reach this machine from outside. Only 200 counts as received; ' +
      'otherwise it is tried again after 1, 5, 15 and 30 s. Redirects are not followed, and an answer may take 15 s.\n\n' +
      'Events from before the start, and events that were given up, are not forwarded: --since starts with them and goes ' +
      'on with new ones. Your server can then get an event twice, as it can from the service.',
    examples: [
      'tillway listen',
      'tillway listen --forward-to http://127.0.0.1:4000/webhooks',
      'tillway listen --since 15m --forward-to http://127.0.0.1:4000/webhooks',
      'tillway listen --events payment.paid,payment.failed --json',
    ],
    options: [
      option('--forward-to <url>', 'where each event is posted'),
      option('--events <types>', `only these, separated by commas: ${EVENT_TYPES.join(', ')}`, eventTypesOf),
      option('--since <event|time>', 'also show past events: from this event on, or of the last 15m'),
      option('--secret <secret>', 'signing secret: whsec_ and base64; default WEBHOOK_SECRET, else a new one'),
      environmentOption('only events of sandbox or of production; default: both'),
    ],
    data: 'print a JSON document a line, for programs',
    lines: true,
  });
  return command.action(async (given: ListenOptions) => {
    const options = { ...given, ...(given.forwardTo !== undefined && { forwardTo: targetOf(given.forwardTo) }) };
    const secret = signingSecretOf(options, context.terminal);
    // Loaded here, because no other command delivers webhooks.
    const [{ createDeliverer }, { createResolve }, { createForwarder }, { noteTexts }] = await Promise.all([
      import('../../webhooks/deliver.ts'),
      import('../../webhooks/address.ts'),
      import('./forwarder.ts'),
      import('./listen-notes.ts'),
    ]);
    const { now, write, sleep, interruption } = context.terminal;
    const textOf = context.isJson(command)
      ? (note: Note) => `${jsonLineOf(note)}\n`
      : noteTexts(context.paint(command));
    const tell = (note: Note) => write(textOf(note));
    const signal = interruption();
    const deliverer = createDeliverer({ targets: 'any', resolve: createResolve(), now });
    const counts = { events: 0, forwarded: 0, failed: 0 };
    /** The ids of the events that the target has not received, by their number. */
    const open = new Map<number, string>();
    let fault: { error: unknown } | undefined;

    function report({ event, ...forwarded }: Forwarded): void {
      if (forwarded.failure === null) open.delete(forwarded.number);
      if (forwarded.failure === null) counts.forwarded += 1;
      else if (forwarded.nextTryMs === null) counts.failed += 1;
      tell({ object: 'forward', eventId: event.id, ...forwarded });
    }

    const url = options.forwardTo;
    const forwarder =
      url === undefined
        ? undefined
        : createForwarder({
            url,
            secret: secret.text,
            deliverer,
            now,
            signal,
            sleep: (ms) => sleep(ms, signal),
            report,
            onFault: (error) => (fault ??= { error }),
          });

    function show(events: readonly WebhookEvent[]): void {
      const { events: types = EVENT_TYPES } = options;
      for (const event of events.filter(({ type }) => types.includes(type))) {
        const numbered = { number: (counts.events += 1), event };
        open.set(numbered.number, event.id);
        tell({ object: 'event', ...numbered });
        forwarder?.forward(numbered);
      }
      if (fault) throw fault.error;
    }

    try {
      await follow({ context, command, options, secret, signal, tell, show });
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      await deliverer.close();
    }
    const [oldest] = forwarder ? open.values() : [];
    const again = oldest === undefined ? null : againCommand(oldest, options, secret);
    tell({ object: 'listen_ended', ...counts, waiting: forwarder?.waiting() ?? 0, again });
  });
}

interface Following {
  context: CommandContext;
  command: Command;
  options: ListenOptions;
  secret: SigningSecret;
  signal: AbortSignal;
  tell(note: Note): void;
  /** Shows the events of each poll. */
  show(events: readonly WebhookEvent[]): void;
}

/**
 * Polls until Ctrl-C. While the service does not answer, the command reports that once and continues to poll. Rejects if
 * the service cannot be read at the start, or the output is closed.
 */
async function follow({ context, command, options, secret, signal, tell, show }: Following): Promise<void> {
  const { terminal } = context;
  const client = context.client(command);
  const url = context.urlOf(command);
  const { forwardTo = null, environment } = options;
  const requests = { signal, maxRetries: 0, timeoutMs: READ_TIMEOUT_MS };
  const query = { limit: PAGE, environment };
  const feed = createEventFeed({
    newestFirst: () => client.events.list(query, requests).pages(),
    feed: (after) => client.events.feed({ ...query, after }, requests).pages(),
  });
  const before = await feed.start(await sinceOf(options, client, { now: terminal.now, requests }));
  const shown = forwardTo === null || secret.from === 'environment' ? null : secret.text;
  tell({
    object: 'listen_started',
    url,
    forwardTo,
    secret: shown,
    secretFrom: forwardTo === null ? null : secret.from,
  });
  show(before);
  let isAway = false;
  while (!signal.aborted) {
    await terminal.sleep(POLL_MS, signal);
    if (signal.aborted) return;
    try {
      const { events, isOtherHistory } = await feed.poll();
      if (isAway) tell({ object: 'service_back', url });
      isAway = false;
      if (isOtherHistory) tell({ object: 'service_replaced', url });
      show(events);
    } catch (error) {
      if (!(error instanceof TillwayError)) throw error;
      if (!isAway && !signal.aborted) tell({ object: 'service_away', url, reason: error.message });
      isAway = true;
      show([]);
    }
  }
}
