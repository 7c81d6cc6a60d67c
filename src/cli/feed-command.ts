import type { Command } from 'commander';
import { TillwayError, type WebhookEvent } from '../../sdk/src/index.ts';
import { type CommandContext, describedCommand, jsonLineOf } from './command-context.ts';
import { EXAMPLE } from './example-ids.ts';
import { type Fields, rowOf } from './record-fields.ts';
import { growingTable } from './table.ts';
import { EVENT_TYPES, choiceOption, environmentOption, option, wholeNumberOption } from './options.ts';
import { plain } from './cells.ts';

const POLL_MS = 1000;
const PAGE = 100;

interface FeedOptions {
  after?: string;
  type?: WebhookEvent['type'];
  environment?: 'sandbox' | 'production';
  limit?: number;
  follow?: boolean;
}

/** `events feed`: the events after a given one, without gaps, and with --follow new ones as they appear. */
export function feedCommand(context: CommandContext, columns: Fields<WebhookEvent>): Command {
  const command = describedCommand('feed', {
    summary: 'Print the events since one of them, oldest first, without gaps',
    details:
      'The order is the one in which events became visible: no event appears before one that was read. ' +
      'The last id is where to go on from: --after.',
    examples: [
      'tillway events feed',
      `tillway events feed --after ${EXAMPLE.event} --json`,
      `tillway events feed --after ${EXAMPLE.event} --follow`,
    ],
    options: [
      option('--after <event>', 'the last event that you know; default: from the beginning'),
      choiceOption('--type <type>', 'only those of this type', EVENT_TYPES),
      environmentOption('only those of this environment; left out, both'),
      wholeNumberOption('--limit', 'how many at most; left out, all', '100'),
      option('--follow', 'continue with new events until Ctrl-C'),
    ],
    data: 'print each event as a JSON document a line, for programs',
    lines: true,
  });

  return command.action(async ({ after = '', type, environment, limit = Infinity, follow }: FeedOptions) => {
    const { terminal } = context;
    const client = context.client(command);
    const signal = follow ? terminal.interruption() : undefined;
    const growing = growingTable(Object.keys(columns), context.paint(command));
    const show = (event: WebhookEvent) =>
      terminal.write(context.isJson(command) ? `${jsonLineOf(event)}\n` : growing.add([rowOf(columns, event)]));
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
        if (!isAway)
          terminal.complain(`${context.urlOf(command)} is unreachable: ${plain(cause.message)} Waiting for it.\n`);
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

/** True if the failure can be over at the next poll: a restart, a deploy, too many calls. */
function isPassing(cause: unknown): cause is TillwayError {
  if (!(cause instanceof TillwayError)) return false;
  return cause.status === undefined || cause.status === 429 || cause.status >= 500;
}
