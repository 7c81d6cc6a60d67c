import type { Command } from 'commander';
import type { WebhookEvent } from '../../sdk/src/index.ts';
import { EVERY_TYPE } from '../domain/webhook-endpoint.ts';
import { type CommandContext, describedCommand, jsonLineOf } from './command-context.ts';
import { events } from './event-commands.ts';
import { EXAMPLE } from './example-ids.ts';
import { followFeed } from './feed-follower.ts';
import { columnsOf, rowOf } from './record-fields.ts';
import { growingTable } from './table.ts';
import { choiceOption, environmentOption, option, wholeNumberOption } from './options.ts';
import { plain } from './cells.ts';

const PAGE = 100;

interface FeedOptions {
  after?: string;
  type?: WebhookEvent['type'];
  environment?: 'sandbox' | 'production';
  limit?: number;
  follow?: boolean;
}

/** The `events feed` command: prints all events after a given one, and with --follow also new events. */
export function feedCommand(context: CommandContext): Command {
  const columns = columnsOf(events);
  const command = describedCommand('feed', {
    summary: 'Print all events after a given event, oldest first',
    details:
      'Events have a fixed order without gaps: new events always follow events that were already read. ' +
      'To continue later, give the last event id as --after.',
    examples: [
      'tillway events feed',
      `tillway events feed --after ${EXAMPLE.event} --json`,
      `tillway events feed --after ${EXAMPLE.event} --follow`,
    ],
    options: [
      option('--after <event>', 'id of the last event that you have read; default: start of the feed'),
      choiceOption('--type <type>', 'events of this type', EVERY_TYPE),
      environmentOption('events of this environment; default both'),
      wholeNumberOption('--limit', 'maximum number of events; default all', '100'),
      option('--follow', 'wait for new events until Ctrl-C'),
    ],
    data: 'print one JSON document per line',
    lines: true,
  });

  return command.action(async ({ after = '', type, environment, limit = Infinity, follow }: FeedOptions) => {
    const { terminal } = context;
    const client = context.client(command);
    const signal = follow ? terminal.interruption() : undefined;
    const growing = growingTable(Object.keys(columns), context.paint(command));
    const show = (event: WebhookEvent) =>
      terminal.write(context.isJson(command) ? `${jsonLineOf(event)}\n` : growing.add([rowOf(columns, event)]));
    const position = { after };
    const followed = followFeed({
      client,
      position,
      query: { type, environment, limit: Math.min(limit, PAGE) },
      signal,
      sleep: terminal.sleep,
      onReach: (reason) => {
        const state = reason === null ? 'reachable again' : `unreachable: ${plain(reason)} Retrying`;
        terminal.complain(`${context.urlOf(command)} is ${state}.\n`);
      },
    });
    let count = 0;
    try {
      for await (const event of followed) {
        show(event);
        if (++count >= limit) break;
      }
      if (count === 0 && !context.isJson(command)) terminal.write('None.\n');
    } catch (cause) {
      throw context.misread(command, cause);
    } finally {
      if (!context.isJson(command) && position.after !== after) {
        terminal.write(growing.end() + context.paint(command)('dim', `continue: --after ${plain(position.after)}\n`));
      }
    }
  });
}
