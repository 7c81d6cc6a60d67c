import type { Command } from 'commander';
import type { WebhookEvent } from '../../sdk/src/index.ts';
import { EVERY_TYPE } from '../domain/webhook-endpoint.ts';
import { type CommandContext, describedCommand, jsonLineOf } from './command-context.ts';
import { EXAMPLE } from './example-ids.ts';
import { followFeed } from './feed-follower.ts';
import { type Fields, rowOf } from './record-fields.ts';
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
      choiceOption('--type <type>', 'only those of this type', EVERY_TYPE),
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
    const position = { after };
    const events = followFeed({
      client,
      position,
      query: { type, environment, limit: Math.min(limit, PAGE) },
      signal,
      sleep: terminal.sleep,
      onReach: (reason) => {
        const state = reason === null ? 'reachable again' : `unreachable: ${plain(reason)} Waiting for it`;
        terminal.complain(`${context.urlOf(command)} is ${state}.\n`);
      },
    });
    let count = 0;
    try {
      for await (const event of events) {
        show(event);
        if (++count >= limit) break;
      }
      if (count === 0 && !context.isJson(command)) terminal.write('None.\n');
    } catch (cause) {
      throw context.misread(command, cause);
    } finally {
      if (!context.isJson(command) && position.after !== '') {
        terminal.write(growing.end() + context.paint(command)('dim', `go on: --after ${plain(position.after)}\n`));
      }
    }
  });
}
