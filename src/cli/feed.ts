import { type Command, Option } from 'commander';
import { TillwayError, type WebhookEvent } from '../../sdk/src/index.ts';
import { type CommandContext, describedCommand, jsonLineOf } from './context.ts';
import { growingTable } from './table.ts';
import { EVENT_TYPES, environmentOption, wholeNumberOf } from './values.ts';
import { type Cell, plain } from './words.ts';

const EVENT = 'evt_chk_01m7x0e4kq3v8n5c2t9y6w1r4b7d0f3h5j8m_paid';
const POLL_MS = 1000;
const PAGE = 100;

interface FeedOptions {
  after?: string;
  type?: WebhookEvent['type'];
  environment?: 'sandbox' | 'production';
  limit?: number;
  follow?: boolean;
}

/** `events feed`: everything that has happened since an event, without gaps, and on with what happens. */
export function feedCommand(
  context: CommandContext,
  { headings, row }: { headings: readonly string[]; row(event: WebhookEvent): Cell[] },
): Command {
  const command = describedCommand('feed', {
    summary: 'Print the events since one of them, oldest first, without gaps',
    details:
      'The order is that in which events became visible: none ever appears before one that was read. ' +
      'The last id is where to go on from: --after.',
    examples: [
      'tillway events feed',
      `tillway events feed --after ${EVENT} --json`,
      `tillway events feed --after ${EVENT} --follow`,
    ],
    data: 'print each event as a JSON document a line, for programs',
    lines: true,
  })
    .option('--after <event>', 'the last event that you know; left out, from the beginning')
    .addOption(new Option('--type <type>', 'only those of this type').choices(EVENT_TYPES))
    .addOption(environmentOption('only those of this environment; left out, both'))
    .option('--limit <number>', 'how many at most; left out, all', (text) => wholeNumberOf('--limit', text, '100'))
    .option('--follow', 'go on with what happens, until Ctrl-C');

  return command.action(async ({ after = '', type, environment, limit = Infinity, follow }: FeedOptions) => {
    const { terminal } = context;
    const client = context.client(command);
    const signal = follow ? terminal.interruption() : undefined;
    const growing = growingTable(headings, context.paint(command));
    const show = (event: WebhookEvent) =>
      terminal.write(context.isJson(command) ? `${jsonLineOf(event)}\n` : growing.add([row(event)]));
    const sayWhere = () => {
      if (context.isJson(command) || cursor === '') return;
      terminal.write(growing.end() + context.paint(command)('dim', `go on: --after ${plain(cursor)}\n`));
    };
    let cursor = after;
    let count = 0;
    let wasReached = false;
    let isAway = false;
    for (;;) {
      const feed = client.events.feed(
        { after: cursor, type, environment, limit: Math.min(limit - count, PAGE) },
        { signal },
      );
      try {
        for await (const event of feed) {
          show(event);
          cursor = event.id;
          if (++count >= limit) break;
        }
        cursor = feed.cursor;
        wasReached = true;
        isAway = false;
      } catch (cause) {
        if (signal?.aborted) break;
        if (!wasReached || !follow || !isPassing(cause)) {
          sayWhere();
          throw context.misread(command, cause);
        }
        if (!isAway) terminal.complain(`${context.urlOf(command)} is away: ${plain(cause.message)} Waiting for it.\n`);
        isAway = true;
      }
      if (!follow || count >= limit) break;
      await terminal.sleep(POLL_MS, signal);
      if (signal?.aborted) break;
    }
    if (count === 0 && !context.isJson(command)) terminal.write('None.\n');
    sayWhere();
  });
}

/** What may be over by the next look: a restart, a deploy, too many calls. */
function isPassing(cause: unknown): cause is TillwayError {
  if (!(cause instanceof TillwayError)) return false;
  return cause.status === undefined || cause.status === 429 || cause.status >= 500;
}
